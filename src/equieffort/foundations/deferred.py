"""Inner loops without machine code of their own: what a loop calls is optimised once, as part of the loop that Python
calls.

numba optimises every inner loop by itself, makes machine code of it, and does both again in each loop that calls it,
level by level. Here inner loops stay as they were lowered, and the outermost takes in all of them. That leans on parts
of numba that may change: where they are not as expected, `deferred` and `gathering` are None, and loops are compiled as
numba does it.
"""

from __future__ import annotations

from typing import Any

deferred: Any = None
"""The compiler of inner loops."""
gathering: Any = None
"""The compiler of loops that Python calls."""
compact: Any = None
"""The same for large ones."""
NEEDLESS = {
    "DeadBranchPrune",
    "FindLiterallyCalls",
    "InlineClosureLikes",
    "InlineInlinables",
    "InlineOverloads",
    "LiteralUnroll",
    "MakeFunctionToJitFunction",
    "NopythonRewrites",
    "RewriteSemanticConstants",
    "WithLifting",
}
"""What numba does for functions inside of functions and for expressions of whole arrays: kernels have none."""

try:
    from llvmlite import binding
    from llvmlite.binding import Linkage
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.core.compiler_machinery import register_pass
    from numba.core.typed_passes import NativeLowering

    class _Nowhere:
        """A code generator for what has no address, so that nothing can be written there."""

        def __init__(self, codegen: Any) -> None:
            self._codegen = codegen

        def __getattr__(self, name: str) -> Any:
            return getattr(self._codegen, name)

        def set_env(self, name: str, env: Any) -> None:
            """What inner loops keep for exceptions; no loop that is loaded from the cache has it either."""

    class _Deferred(JITCodeLibrary):  # type: ignore[misc]
        """Code as it was lowered."""

        @property
        def codegen(self) -> Any:
            return _Nowhere(self._codegen)

        hot: tuple[str, ...] = ()
        """Its functions, if most of the time is spent in them."""

        def add_llvm_module(self, ll_module: Any) -> None:
            if self.is_hot:
                self.hot += tuple(one.name for one in ll_module.functions if not one.is_declaration)
            # Only the module as a whole is optimised, once, with all that it calls.
            ll_module.data_layout = self._codegen._data_layout
            self._final_module.link_in(ll_module)

        def finalize(self) -> None:
            self._raise_if_finalized()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            return 0

    class _Gathering(JITCodeLibrary):  # type: ignore[misc]
        """Code with all that it calls, directly or not."""

        def _optimize_functions(self, ll_module: Any) -> None:
            ll_module.data_layout = self._codegen._data_layout

        def finalize(self) -> None:
            for library in self._linking_libraries:
                # The list grows while it is walked: what was deferred brings what it calls itself.
                if isinstance(library, _Deferred):
                    known = set(self._linking_libraries)
                    self._linking_libraries += [new for new in library._linking_libraries if new not in known]
            super().finalize()

        def _optimize_final_module(self) -> None:
            # Nobody else calls them: so they need not keep the arguments they do not use, nor be kept where inlined.
            for function in self._final_module.functions:
                if function.linkage == Linkage.linkonce_odr and "equieffort" in function.name:
                    function.linkage = Linkage.internal
            super()._optimize_final_module()

    class _Compact(_Gathering):
        """The same for large code whose loops are short: made into vector code and unrolled, each would be several
        times as much to compile and no faster. Hot ones are, and stay functions of their own."""

        def _optimize_final_module(self) -> None:
            hot = {name for library in self._linking_libraries for name in getattr(library, "hot", ())}
            for function in self._final_module.functions:
                if function.linkage == Linkage.linkonce_odr and "equieffort" in function.name:
                    function.linkage = Linkage.internal
                if not function.is_declaration:
                    function.add_function_attribute("noinline" if function.name in hot else "optsize")
            passes, builder = self._codegen._module_pass_manager(opt=2)
            passes.run(self._final_module, builder)

    def _compiler(library: type) -> type:
        @register_pass(mutates_CFG=True, analysis_only=False)
        class Lowering(NativeLowering):  # type: ignore[misc]
            _name = f"equieffort_lowering{library.__name__}"

            def run_pass(self, state: Any) -> bool:
                state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
                state.library.is_hot = state.func_id.func.__dict__.get("is_hot", False)
                state.library.enable_object_caching()
                return bool(super().run_pass(state))

        class Compiler(CompilerBase):  # type: ignore[misc]
            def define_pipelines(self) -> list[Any]:
                passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
                needed = [(one, why) for one, why in passes.passes if one.__name__ not in NEEDLESS]
                passes.passes = [(Lowering if one is NativeLowering else one, why) for one, why in needed]
                passes.finalize()
                return [passes]

        return Compiler

    deferred, gathering, compact = (_compiler(library) for library in (_Deferred, _Gathering, _Compact))
    if not hasattr(binding, "create_pass_builder"):
        # LLVM's older passes break off at code that is to be small.
        compact = gathering
except Exception:  # whatever a numba of another time does where these classes are made
    deferred = gathering = compact = None
