"""Score texts with Ray Data, on a machine or a cluster, and write Parquet.

    python3 ray_batch.py sentences.txt scores/                  # needs ray, pyarrow and attn.py
    python3 ray_batch.py sentences.txt scores/ --model life --workers 8 --address auto

Each worker holds one model and scores texts with one thread; a worker that dies is started again
and its batch is scored anew. Rows have the number of the text, so that their order is known:
`id`, `text`, `tokens`, and the `logprob` of each token in nats, as `attn-cli score` has them.
--address auto: the cluster of this node (ray start); every node needs attn.py and LIBATTN.
"""
import argparse
import os
import shutil

import numpy
import ray


class Scores:
    """A worker: its model is opened once."""

    def __init__(self, name):
        import attn  # here, so that the driver needs no library
        self.model = attn.Model(name, threads=1)

    def __call__(self, batch):
        tables = self.model.score(batch["text"].tolist())  # at once: as fast as batch
        batch["tokens"] = numpy.array([len(table) for table in tables])
        logprobs = numpy.empty(len(tables), object)
        for i, table in enumerate(tables):
            logprobs[i] = table["logprob"].tolist()  # arrays would become tensors
        batch["logprob"] = logprobs
        return batch


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    words.add_argument("texts", help="a file with a text a line")
    words.add_argument("output", help="a folder for Parquet files, which is replaced")
    words.add_argument("--model", default="tiny", help="as in attn-cli -m (default: tiny)")
    words.add_argument("--workers", type=int, default=os.cpu_count())
    words.add_argument("--batch", type=int, default=64, help="texts a call (default: 64)")
    words.add_argument("--address", help="of a cluster: auto, or HOST:PORT (default: this machine)")
    given = words.parse_args()
    ray.init(address=given.address, log_to_driver=False)
    with open(given.texts, encoding="utf-8") as file:
        texts = [{"id": i, "text": line.rstrip("\n")} for i, line in enumerate(file)]
    data = ray.data.from_items(texts, override_num_blocks=max(1, len(texts) // given.batch))
    shutil.rmtree(given.output, ignore_errors=True)
    data.map_batches(Scores, fn_constructor_args=[given.model], batch_size=given.batch,
                     concurrency=given.workers).write_parquet(os.path.abspath(given.output))


if __name__ == "__main__":
    main()
