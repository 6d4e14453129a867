-- purpose: whether a format's harness judges what the agent leaves behind, so that a `submit` call is no verdict
-- grain: scalar
-- inputs:
create or replace macro judges_final_state(format_name) as format_name in (
    'atif', 'inspect_ai', 'claude_code', 'codex', 'opencode', 'gemini', 'kernelbench_com'
);
