"""How the state of a cell is kept: components that name what they hold, queues, and the one place that saves them."""
