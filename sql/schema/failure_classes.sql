-- purpose: the failure taxonomy, from data/failure_classes.toml
-- grain: class
create table failure_classes (
    class varchar primary key,  -- dotted id: compile.undeclared
    title varchar not null,  -- a few words
    owner varchar not null,  -- model | harness | infrastructure | provider | suite
    meaning varchar,  -- what happened
    advice varchar  -- what a person does about it
);
