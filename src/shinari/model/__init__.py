"""What a scene becomes when it is built: the model, the state, and the protocol of the systems."""
