-- purpose: the failure taxonomy, from data/failure_classes.toml
-- grain: class
create table failure_classes (
    class varchar primary key,  -- dotted id: compile.undeclared
    title varchar not null,  -- a few words
    owner varchar not null,  -- model | harness | infrastructure | provider | suite
    outcome varchar not null,  -- what a run ends as when this class decides it
    meaning varchar,  -- what happened
    advice varchar  -- what a person does about it
);
