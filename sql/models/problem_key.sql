-- purpose: which problem a run is about. Number and name both count: a number is unique within level and variant only, and some sources have just one of them
-- grain: scalar
-- inputs: variant_key
create or replace macro problem_key(suite_name, variant_name, level_number, id_number, name_text) as concat_ws(
    '/',
    suite_name,
    variant_key(variant_name),
    coalesce(level_number::varchar, '?'),
    coalesce(id_number::varchar, '?'),
    coalesce(name_text, '?')
);
