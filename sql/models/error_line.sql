-- purpose: the first error line of a compiler, assembler or linker in a text. Warnings, notes and "ptxas info" lines hold the same words and must not be looked at. Some sources fold line ends away: 300 characters
-- grain: scalar
-- inputs:
create or replace macro error_line(body) as nullif(
    if(
        contains(body, 'error') or contains(body, 'fatal')
        or contains(body, 'undefined reference') or contains(body, 'multiple definition') or contains(body, 'ld: cannot find -l'),
        regexp_extract(
            body,
            '\S*(?:: (?:fatal |catastrophic )?error(?: #\d+(?:-D)?)?: |ptxas (?:\S+, line \d+; )?(?:error|fatal) *: |nv(?:link|cc) (?:error|fatal) *: |\S+ undefined reference to|\S+ multiple definition of|\bld: cannot find -l)[^\n]{0,300}'
        ),
        null
    ),
    ''
);
