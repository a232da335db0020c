"""The paper's experiments, and the demo: public functions put together."""
