-- suppress_number: Suppresses a number for a locked account; says whether it was not.
SELECT suppress_number(:account, :number, :now, :source);
