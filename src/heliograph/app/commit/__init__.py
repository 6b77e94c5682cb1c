"""One commit of facts: what to do when the store refuses a part of it."""
