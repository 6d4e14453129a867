-- purpose: the rules of the taxonomy, in the order in which they are tried; the first that matches wins
-- grain: rule
create table failure_rules (
    rule bigint primary key,  -- order, from 1
    class varchar not null,  -- the class it assigns
    field varchar not null,  -- text | harness | diagnostic | metadata_error | feedback | source_outcome
    needle varchar,  -- a literal that must occur: cheap, tried first
    pattern varchar  -- a regular expression (RE2) that must match; NULL: the literal is enough
);
