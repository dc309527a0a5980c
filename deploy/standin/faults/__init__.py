"""Faults on command: kinds and rules (pure), the injector that carries them out, the control socket."""
