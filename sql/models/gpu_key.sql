-- purpose: a GPU's model out of the many ways in which harnesses and drivers write it ("H100_Modal", "['NVIDIA H200']")
-- grain: scalar
-- inputs:
create or replace macro gpu_key(gpu_name) as coalesce(
    -- Bounded on both sides: an RTX A4000 is no A40, a T400 no T4.
    nullif(
        regexp_extract(
            upper(gpu_name),
            '(?:^|[^A-Z0-9])(GB300|GB200|GH200|B300|B200|H200|H100|H800|H20|A100|A800|A6000|A40|A30|A10G|A10|L40S|L40|L20|L4|T4|V100|P100|MI\d{3}X?)(?:SXM\d?|PCIE|NVL)?(?:[^A-Z0-9]|$)',
            1
        ),
        ''
    ),
    'RTX ' || nullif(
        regexp_replace(
            regexp_extract(
                upper(gpu_name), 'RTX[ _-]?((?:PRO[ _-]?)?\d{4}(?:[ _-]?(?:TI|SUPER|LAPTOP))*)', 1
            ),
            '[ _-]+',
            ' ',
            'g'
        ),
        ''
    ),
    upper(trim(gpu_name))
);
