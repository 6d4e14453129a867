-- purpose: a source's label in one spelling: small letters, `_` for blanks and hyphens ("Compile Error" is compile_error)
-- grain: scalar
-- inputs:
create or replace macro label_key(label_text) as regexp_replace(lower(trim(label_text)), '[\s-]+', '_', 'g');
