"""jinja2 with less work an expression: a site has a million of them, and most are a short text or a column.

Templates are compiled to the code that jinja2 writes, with four differences in what it calls. An expression goes
through one function that cleans and escapes at once and remembers short texts (`Environment.put`); a column of a
record is looked up as a key before it is tried as an attribute; what is called is called directly, and a macro
with positional arguments without sorting them. What a template means stays the same: autoescape, undefined names
and macros' defaults are jinja2's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame, MacroRef, optimizeconst
from jinja2.runtime import Macro, missing
from kbstats.site import fmt
from kbstats.site.redact import MOST, SHORT
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Callable

_new = str.__new__  # a macro's output is markup; `Markup()` would ask it for `__html__` first


class _Macro(Macro):
    """A macro that fills its parameters by position where that is all it takes."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._places = {name: i for i, name in enumerate(self.arguments)}
        self._plain = not (self.catch_kwargs or self.catch_varargs or self.caller)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The macro's output as markup."""
        count = self._argument_count
        if not self._plain or len(args) > count:
            return super().__call__(*args, **kwargs)
        if len(args) < count:
            filled = [*args, *(missing,) * (count - len(args))]
            for name, value in kwargs.items():
                place = self._places.get(name, -1)
                if place < len(args):
                    return super().__call__(*args, **kwargs)
                filled[place] = value
            return _new(Markup, self._func(*filled))
        return super().__call__(*args, **kwargs) if kwargs else _new(Markup, self._func(*args))


class _Code(CodeGenerator):
    """Writes a template as Python."""

    def write_commons(self) -> None:
        """Names that functions of a template share."""
        super().write_commons()
        self.writeline("put, column = environment.put, environment.column")

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if frame.eval_ctx.volatile or not frame.eval_ctx.autoescape:
            super()._output_child_pre(node, frame, finalize)
        else:
            self.write("put(")

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if frame.eval_ctx.volatile or not frame.eval_ctx.autoescape:
            super()._output_child_post(node, frame, finalize)
        else:
            self.write(")")

    @optimizeconst
    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802  jinja2 finds it by this name
        """`a.b`; a name that records have as a method too stays jinja2's."""
        self.write("environment.getattr(" if hasattr(dict, node.attr) else "column(")
        self.visit(node.node, frame)
        self.write(f", {node.attr!r})")

    @optimizeconst
    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:  # noqa: N802
        """`f(x)`: nothing that these templates call asks for the context."""
        if forward_caller or node.dyn_args or node.dyn_kwargs:
            super().visit_Call(node, frame, forward_caller=forward_caller)
            return
        self.write("(")
        self.visit(node.node, frame)
        self.write(")(")
        for arg in [*node.args, *node.kwargs]:
            self.visit(arg, frame)
            self.write(", ")
        self.write(")")

    def macro_def(self, macro_ref: MacroRef, frame: Frame) -> None:
        """The object that a macro's name stands for."""
        del frame
        names = tuple(arg.name for arg in macro_ref.node.args)
        flags = macro_ref.accesses_kwargs, macro_ref.accesses_varargs, macro_ref.accesses_caller
        self.write(f"environment.macro(environment, macro, {getattr(macro_ref.node, 'name', None)!r}, {names!r}")
        self.write("".join(f", {flag!r}" for flag in flags) + ", context.eval_ctx.autoescape)")


class Environment(jinja2.Environment):
    """An environment whose templates say `text` of every expression before it is escaped.

    Args:
        text: Makes foreign text fit to be shown; text that it gives back as it was will be so next time too.
        options: Everything else that `jinja2.Environment` takes.
    """

    code_generator_class = _Code
    macro = _Macro

    def __init__(self, text: Callable[[str], str], **options: Any) -> None:
        super().__init__(finalize=self._finalize, autoescape=True, undefined=jinja2.StrictUndefined, **options)
        self._text = text
        self._known: dict[str, str] = {}

    def _finalize(self, value: Any) -> Any:
        if isinstance(value, Markup):
            return value
        if isinstance(value, str):
            return self._text(value)
        if value is None:
            return fmt.UNKNOWN
        if isinstance(value, bool):
            return "yes" if value else "no"
        return value

    def put(self, value: Any) -> str:
        """An expression's value as it stands on a page: no text reaches it around this."""
        kind = type(value)
        if kind is Markup:
            return value
        if kind is str:
            found = self._known.get(value)
            if found is None:
                text = self._text(value)
                found = str(escape(text))
                if text is value and len(value) < SHORT:
                    if len(self._known) >= MOST:
                        self._known.clear()
                    self._known[value] = found
            return found
        return str(value) if kind is int or kind is float else str(escape(self._finalize(value)))

    def column(self, obj: Any, name: str) -> Any:
        """`obj.name`; a name that is no method of a record."""
        if type(obj) is dict and name in obj:
            return obj[name]
        return self.getattr(obj, name)
