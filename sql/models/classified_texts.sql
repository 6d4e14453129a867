-- purpose: failure_texts with the rule that names them: the first of the taxonomy that matches any field
-- grain: run_id, turn, seq, origin
-- inputs: failure_texts, failure_rules, failure_classes
-- stored: yes
-- changes: run_id
create or replace view classified_texts as
-- first_rule and rule_words hold the rules as constants: analytics/taxonomy.py writes them.
with hits as (
    select run_id, turn, seq, origin, min(rule) as rule, min_by(body, rule) as body, min_by(base, rule) as base, min_by(field, rule) as field
    -- distinct ends the branches of failure_texts: else each of them prepares all rules for itself
    from (select *, first_rule(field, body) as rule from (select distinct * from failure_texts))
    group by run_id, turn, seq, origin
),
placed as (
    -- the filter stands behind the grouping, else every branch of failure_texts plans all rules again
    select *, instr(body, words) as at
    from (select *, rule_words(rule, body) as words from hits where rule is not null)
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
