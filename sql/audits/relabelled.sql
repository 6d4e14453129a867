-- purpose: the source changed the outcome afterwards
-- severity: warning
-- blocks: nothing
-- threshold: none
select
    run_id,
    printf(
        'relabelled %s, was %s',
        coalesce(source_outcome, 'correct'),
        coalesce(extra ->> '$.outcome_original', extra ->> '$.correct_original', 'another outcome')
    ) as message,
    null as value,
    null as threshold
from runs
where
    contains(coalesce(extra::varchar, ''), '"outcome_original"')
    or contains(coalesce(extra::varchar, ''), '"correct_source"')
    or lower(coalesce(extra ->> '$.timeout_recovered', '')) = 'true'
