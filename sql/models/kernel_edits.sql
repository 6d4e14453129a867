-- purpose: how much an agent changed between one kernel and the next that it sent
-- grain: run_id, turn, seq
-- inputs: tool_calls, kernels
-- parameters: none. Lines are compared as a set, white space at their ends ignored: a moved line is no change.
create or replace view kernel_edits as
with sent as (
    select
        run_id,
        turn,
        seq,
        kernel_sha256,
        lag(kernel_sha256) over (partition by run_id order by turn, seq) as previous_sha256
    from tool_calls
    where kernel_sha256 is not null
),
changed as (
    select
        s.run_id, s.turn, s.seq, s.kernel_sha256, s.previous_sha256,
        list_distinct(list_transform(string_split(n.source_code, chr(10)), lambda x: trim(x))) as new_lines,
        list_distinct(list_transform(string_split(o.source_code, chr(10)), lambda x: trim(x))) as old_lines
    from sent as s
    inner join kernels as n on s.kernel_sha256 = n.kernel_sha256
    inner join kernels as o on s.previous_sha256 = o.kernel_sha256
    where s.kernel_sha256 <> s.previous_sha256
)
select
    run_id,
    turn,
    seq,
    kernel_sha256,
    previous_sha256,
    len(new_lines) - len(list_intersect(new_lines, old_lines)) as lines_added,
    len(old_lines) - len(list_intersect(new_lines, old_lines)) as lines_removed,
    len(new_lines) as n_lines
from changed;
