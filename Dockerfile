# Everything that make demo and make test need: docker build -t precog . && docker run precog make demo
FROM python:3.11-slim-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ git make perl \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /precog
# The environment is a layer of its own: it changes only with these files.
COPY pyproject.toml constraints.txt README.md LICENSE Makefile ./
RUN mkdir hw models sim sw && make .venv/.installed && pip cache purge
COPY . .
# The editable installation was of empty folders; nothing is downloaded again.
RUN touch .venv/.installed
CMD ["make", "test"]
