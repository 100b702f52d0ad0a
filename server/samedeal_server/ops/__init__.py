"""Operations: metrics, logging and supervision."""
