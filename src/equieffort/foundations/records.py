"""Classes of arrays handed from kernel to kernel by address.

numba hands a NamedTuple on by value: every number of every array in it, their sizes and strides too, is an argument of
its own, some hundred of them where a search is at work, and each call takes all apart and puts all together again. More
than half of what was compiled was that. A *record* is a NamedTuple like any other to Python, and to compiled kernels an
address. Its arrays are held by whoever made it: kernels read it, take records out of it and make new ones of what they
were given, and count nobody.

That leans on parts of numba that may change: where they are not as expected, records are handed on as numba does it,
which takes longer to compile and nothing else.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

T = TypeVar("T", bound=type)

constructors: dict[Any, Any] = {}
"""What makes a record in compiled kernels, in the place of its class."""


def record(cls: T) -> T:
    """Mark a NamedTuple of arrays and numbers (and of other records) that kernels hand on by address.

    >>> from typing import NamedTuple, Any
    >>> import numpy as np
    >>> from equieffort.foundations.jit import kernel, linked
    >>> @record
    ... class Pair(NamedTuple):
    ...     one: Any
    ...     other: float
    >>> @kernel
    ... def last(pair):
    ...     return pair.one[-1] + pair.other
    >>> linked(last)(Pair(np.arange(3.0), 40.0))
    42.0
    """
    if _register is not None and cls not in constructors:
        constructors[cls] = _register(cls)
    return cls


_register: Any = None

try:
    import numba.core.types
    from llvmlite import ir
    from numba.core import cgutils
    from numba.core.datamodel.models import DataModel
    from numba.core.imputils import impl_ret_borrowed, lower_builtin
    from numba.core.pythonapi import NativeValue
    from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
    from numba.extending import lower_getattr_generic, register_model, typeof_impl, unbox

    types: Any = numba.core.types

    class Record(types.Type):  # type: ignore[misc]
        """The type of a record: its class, and the types of its fields."""

        def __init__(self, cls: Any, fields: tuple[Any, ...]) -> None:
            self.cls, self.fields = cls, fields
            # Types are compared and functions named by this: the short name of a long story.
            told = " ".join([cls.__module__, cls.__qualname__, *cls._fields, *map(str, fields)])
            super().__init__(f"{cls.__name__}.{hashlib.sha256(told.encode()).hexdigest()[:16]}")

    @register_model(Record)
    class _Address(DataModel):  # type: ignore[misc]
        """An address; inside of other records and where it is returned, what lies there."""

        def __init__(self, manager: Any, of: Any) -> None:
            super().__init__(manager, of)
            self.members = [manager.lookup(field) for field in of.fields]
            self.inside = ir.LiteralStructType([member.get_data_type() for member in self.members])

        def get_value_type(self) -> Any:
            return self.inside.as_pointer()

        def get_data_type(self) -> Any:
            return self.inside

        def get_return_type(self) -> Any:
            return self.inside

        def as_data(self, builder: Any, value: Any) -> Any:
            return builder.load(value)

        def from_data(self, builder: Any, value: Any) -> Any:
            return cgutils.alloca_once_value(builder, value)

        as_return, from_return = as_data, from_data

        def as_argument(self, builder: Any, value: Any) -> Any:
            return value

        def from_argument(self, builder: Any, value: Any) -> Any:
            # Nobody writes to a record while a kernel has it: what was read once need not be read again.
            for promise in ("noalias", "nonnull"):
                value.add_attribute(promise)
            try:
                value.add_attribute("captures(none)")
            except ValueError:
                # What LLVM before version 21 calls it.
                value.add_attribute("nocapture")
            return value

        def load_from_data_pointer(self, builder: Any, ptr: Any, align: Any = None) -> Any:
            return ptr

    def _load(model: Any, builder: Any, place: Any) -> Any:
        """A field; an array in one piece, which is much less to write down."""
        if isinstance(model, _Address) or model.get_data_type() != model.get_value_type():
            return model.load_from_data_pointer(builder, place)
        return builder.load(place)

    def _fill(context: Any, builder: Any, typ: Any, values: Any) -> Any:
        """Room for a record, with these values in it."""
        model = context.data_model_manager[typ]
        room = cgutils.alloca_once(builder, model.inside)
        for k, (member, value) in enumerate(zip(model.members, values, strict=True)):
            same = member.get_data_type() == member.get_value_type()
            builder.store(value if same else member.as_data(builder, value), cgutils.gep_inbounds(builder, room, 0, k))
        return room

    @infer_getattr
    class _Fields(AttributeTemplate):  # type: ignore[misc]
        key = Record

        def generic_resolve(self, typ: Any, name: str) -> Any:
            return typ.fields[typ.cls._fields.index(name)] if name in typ.cls._fields else None

    def _field(context: Any, builder: Any, typ: Any, value: Any, name: str) -> Any:
        k = typ.cls._fields.index(name)
        place = cgutils.gep_inbounds(builder, value, 0, k)
        field = typ.fields[k]
        return impl_ret_borrowed(context, builder, field, _load(context.data_model_manager[field], builder, place))

    lower_getattr_generic(Record)(_field)

    def _unbox(typ: Any, given: Any, c: Any) -> Any:
        """Fields one by one; who made the arrays holds them, and so does Python's call until it ends.

        There are many arrays and few types of them: what is done for a type is written down once.
        """
        model = c.context.data_model_manager[typ]
        room, failed = cgutils.alloca_once(c.builder, model.inside), cgutils.false_bit
        cleanups: list[Any] = []

        def cleanup() -> None:
            for free in cleanups:
                free()

        for k, field in enumerate(typ.fields):
            place, item = cgutils.gep_inbounds(c.builder, room, 0, k), c.pyapi.tuple_getitem(given, k)
            if isinstance(field, types.Array):
                taken = c.builder.call(_once(c, field, _taking), [item, place])
                cleanups.append(lambda field=field, place=place: c.builder.call(_once(c, field, _freeing), [place]))
            else:
                native = c.unbox(field, item)
                taken, own = native.is_error, c.context.data_model_manager[field]
                c.builder.store(own.as_data(c.builder, native.value), place)
                cleanups += [] if native.cleanup is None else [native.cleanup]
            failed = c.builder.or_(failed, taken)
        return NativeValue(room, is_error=failed, cleanup=cleanup)

    unbox(Record)(_unbox)

    def _once(c: Any, field: Any, written: Any) -> Any:
        """A function of this module for a type of arrays."""
        name = f"equieffort.{written.__name__}.{field}"
        if name not in c.builder.module.globals:
            place = c.context.data_model_manager[field].get_data_type().as_pointer()
            written(c, field, name, place)
        return c.builder.module.globals[name]

    def _taking(c: Any, field: Any, name: str, place: Any) -> None:
        """Read an array of Python's; true if it is none."""
        made = ir.Function(c.builder.module, ir.FunctionType(cgutils.bool_t, [c.pyapi.pyobj, place]), name)
        made.linkage = "internal"
        builder = ir.IRBuilder(made.append_basic_block())
        native = c.context.get_python_api(builder).to_native_value(field, made.args[0])
        builder.store(native.value, made.args[1])
        builder.ret(native.is_error)

    def _freeing(c: Any, field: Any, name: str, place: Any) -> None:
        """Let go of an array."""
        made = ir.Function(c.builder.module, ir.FunctionType(ir.VoidType(), [place]), name)
        made.linkage = "internal"
        builder = ir.IRBuilder(made.append_basic_block())
        c.context.nrt.decref(builder, field, builder.load(made.args[0]))
        builder.ret_void()

    def _typed_register(cls: Any) -> Any:
        """Tell numba of a class; returns what makes one in compiled code."""

        def type_of(value: Any, c: Any) -> Any:
            return Record(cls, tuple(typeof_impl(part, c) for part in value))

        typeof_impl.register(cls)(type_of)

        def make(*fields: Any) -> Any:
            raise NotImplementedError

        make.__dict__["_fields"] = cls._fields

        class _Make(AbstractTemplate):  # type: ignore[misc]
            key = make

            def generic(self, args: Any, kws: Any) -> Any:
                fields = tuple(types.unliteral(one) for one in args)
                return signature(Record(cls, fields), *fields)

        infer_global(make, types.Function(_Make))

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _fill(context, builder, sig.return_type, args)

        lower_builtin(make, types.VarArg(types.Any))(lower)
        return make

    _register = _typed_register
except Exception:  # whatever a numba of another time does where these classes are made
    _register = None
