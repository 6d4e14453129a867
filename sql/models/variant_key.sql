-- purpose: a problem set's name; `original`, `default` and no name at all are the level's own problems
-- grain: scalar
-- inputs:
create or replace macro variant_key(variant_name) as coalesce(nullif(variant_name, 'default'), 'original');
