-- purpose: a number with so many decimals for a message; one that no run can have in three figures, not in three hundred
-- grain: scalar
-- inputs:
create or replace macro number_text(number, decimals) as if(
    abs(number) < 1e7, printf('%.*f', decimals, number::double), printf('%.3g', number::double)
);
