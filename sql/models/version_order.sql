-- purpose: the numbers of a version in their order: 1.10 comes after 1.9, and kbv-10 after kbv-9. A text without any comes first
-- grain: scalar
-- inputs:
create or replace macro version_order(version_text) as list_transform(
    regexp_extract_all(coalesce(version_text, ''), '\d+'), lambda part: coalesce(try_cast(part as hugeint), 0)
);
