"""Credit: amounts, tariffs and the dates of prices."""
