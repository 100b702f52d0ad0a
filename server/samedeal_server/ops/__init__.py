"""Operations: metrics, logging and supervised loops."""
