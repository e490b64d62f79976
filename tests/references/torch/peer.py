"""What comparisons of models with PyTorch share: a quiet transformers, the results of the program,
and how far they are off."""
import json, os, subprocess, warnings

os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
warnings.filterwarnings("ignore")
import torch  # noqa: E402

LIMIT = 1e-5


def results(program, *line):
    """The results of a command line, one for each text; RuntimeError: its message."""
    done = subprocess.run([program, *line, "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    found = json.loads(done.stdout)
    return found if isinstance(found, list) else [found]


def ids_of(text):
    return ",".join(map(str, text))


def off(found, wanted):
    """The largest error, relative to the largest number."""
    found = torch.as_tensor(found, dtype=torch.float64)
    if found.shape != wanted.shape:
        raise ValueError(f"shape {tuple(found.shape)}, not {tuple(wanted.shape)}")
    return ((found - wanted).abs().max() / wanted.abs().max()).item()
