-- purpose: failure_texts with the rule that names them: the first of the taxonomy that matches any field
-- grain: run_id, turn, seq, origin
-- inputs: failure_texts, failure_rules, failure_classes, tool_calls, harness_prefix, error_line
-- stored: yes
-- changes: run_id
create or replace view classified_texts as
-- rule_words and the macros of rules hold the rules as constants: analytics/taxonomy.py writes them, one a field.
with calls as (
    select
        run_id, turn, seq, result_text as body, metadata ->> '$.error' as code,
        len(harness_prefix(result_text)) as own,
        error_line(result_text) as line
    from tool_calls
    where ok = false
),
-- A call's fields stand in one row, so that texts need no grouping: it held all of them in memory.
call_rules as (
    select
        *,
        text_rule(body) as by_text,
        harness_rule(substr(body, own + 1)) as by_harness,
        diagnostic_rule(line) as by_line,
        metadata_error_rule(code) as by_code
    from calls
),
call_hits as (
    select
        run_id, turn, seq, 'tool' as origin, rule,
        case rule when by_text then 'text' when by_harness then 'harness' when by_line then 'diagnostic' else 'metadata_error' end as field,
        case rule when by_text then body when by_harness then substr(body, own + 1) when by_line then line else code end as body,
        case rule when by_text then 0 when by_harness then own when by_line then instr(body, line) - 1 else 0 end as base
    from (select *, least(by_text, by_harness, by_line, by_code) as rule from call_rules)
),
other_hits as (
    select run_id, turn, seq, origin, unnest(min({ 'rule': rule, 'field': field, 'base': base, 'body': body }))
    -- distinct ends the branches of failure_texts: else each of them prepares all rules for itself
    from (select *, first_rule(field, body) as rule from (select distinct * from failure_texts where origin <> 'tool'))
    group by run_id, turn, seq, origin
),
hits as (
    select run_id, turn, seq, origin, rule, field, body, base from call_hits
    union all
    select run_id, turn, seq, origin, rule, field, body, base from other_hits
),
placed as (
    -- a rule that is null meets none below; asked for here, every branch would look for its rule twice
    select *, instr(body, words) as at
    from (select *, rule_words(rule, body) as words from hits)
)
select
    h.run_id,
    h.turn,
    h.seq,
    h.origin,
    h.rule,
    c.class as failure_class,
    c.owner,
    c.outcome,
    -- The deciding words, with what stands around them on their line.
    trim(
        right(string_split(left(h.body, h.at - 1), chr(10))[-1], 100)
        || left(h.words || string_split(substr(h.body, h.at + len(h.words)), chr(10))[1], 300)
    ) as evidence,
    h.field,
    -- The deciding words alone, in characters from 0 of the text they stand in.
    h.base + h.at - 1 as evidence_start,
    h.base + h.at - 1 + len(h.words) as evidence_end
from placed as h
inner join failure_rules as r on h.rule = r.rule
inner join failure_classes as c on r.class = c.class;
