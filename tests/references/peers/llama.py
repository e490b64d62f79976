"""llama.cpp in a separate process, by llama.mjs. PEERS is the folder that fetch.sh installs in."""
import json
import os
import subprocess
import tempfile

import numpy

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "llama.mjs")
IN_FLOAT32 = {"kvCacheKeyType": 0, "kvCacheValueType": 0, "flashAttention": False}


class Llama:
    def __init__(self, path, **options):
        """Options are those of llama.mjs for a context: threads, types of cached keys and values."""
        self.process = subprocess.Popen(["node", SCRIPT, path, json.dumps(options)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def ids(self, texts):
        """The ids of each text without the beginning-of-text token; and that token, or None."""
        answer = self.ask(texts=texts)
        return answer["ids"], answer["first"]

    def logits(self, ids):
        with tempfile.TemporaryDirectory() as folder:
            self.ask(ids=ids, write=f"{folder}/logits")
            return numpy.fromfile(f"{folder}/logits", "<f4").reshape(len(ids), -1)

    def close(self):
        self.process.communicate()
