#!/usr/bin/env python3
"""What each key of config.json does, by transformers 5: writes tests/references/oracle/keys.txt.

usage: keys.py BUILD/attn-cli [MODEL...]        prints the lines of all models, or of these

Changes each key of a small model of golden-families in turn: keys of its config.json, those that
the class of its config has, and some that any file may have. A line of the table is a model, with
its ids, a change of all and one number of its logits; a change and that number, by transformers in
float64; or the changes that have no effect, that are refused by the key's name, or that the tensors
do not fit ("-key" removes a key). The program must do the same; where it does not, a message tells,
unless OWN has a reason. Needs transformers and torch.
"""
import json, os, pathlib, shutil, subprocess, sys, tempfile, warnings

os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
warnings.filterwarnings("ignore")
import torch, transformers  # noqa: E402

transformers.utils.logging.disable_progress_bar()

FOLDER = pathlib.Path(__file__).parent.parent / "golden-families"
MODELS = """albert apertus arcee bamba bart bert biogpt bloom camembert codegen cohere-qk-norm cohere2
dbrx deberta-v2 deepseek_v2 deepseek_v3 diffllama distilbert dots1 electra ernie4_5 ernie4_5_moe esm exaone4
falcon falcon-rw-alibi falcon_h1 falcon_mamba gemma gemma2 gemma3 gemma3_text gemma3n_text gemma4-experts gemma4_text glm glm4 glm4_moe glm4_moe_lite gpt_bigcode
gpt_neo gpt_neox gpt_oss gptj granite granitemoe granitemoehybrid granitemoeshared helium hunyuan_v1_dense
hunyuan_v1_moe jamba kimi_linear lfm2 lfm2_moe llama llama-rope-dynamic llama-rope-llama3 llama-rope-yarn m2m_100 mamba mamba2 marian mbart
minimax_m2 ministral ministral3 mistral mistral3 mixtral modernbert mpnet mpt mt5 nemotron
nemotron_h nomic_bert olmo olmo2 olmo3 olmo_hybrid olmoe openai-gpt opt pegasus phi phi3 phi3-longrope phimoe qwen2
qwen2_moe qwen3 qwen3_5_text qwen3_moe qwen3_next roberta seed_oss smollm3 stablelm starcoder2 t5 t5-gated-untied umt5 xglm
xlm-roberta""".split()

BASES = {"gemma2": {"query_pre_attn_scalar": 7}}  # transformers wants whole numbers

# Keys of every config that say nothing about the numbers, and what a model cannot be without.
SKIP = set(transformers.PreTrainedConfig().to_dict()) - {"is_encoder_decoder"} | {
    "model_type", "architectures", "dtype", "torch_dtype", "transformers_version", "id2label",
    "label2id", "use_cache", "task_specific_params", "vision_config", "per_layer_config"}
IDLE = "dropout", "pdrop", "_token_id", "layerdrop", "initializer", "init_std", "_loss_coef"

# Keys that are refused by their names, though transformers ignores them where they mean nothing, or
# (the last) computes what no published model has: DeBERTa without distances.
REFUSED = {"is_encoder_decoder", "add_cross_attention", "use_bidirectional_attention", "clip_qkv",
           "relative_attention"}
SIZES = {"-num_hidden_layers", "-hidden_size", "-num_attention_heads", "-vocab_size"}

# Keys (of a model, or of all) that this program reads otherwise, and why.
OWN = {
    # a property of the class of configs, which it does not save
    ("modernbert", "sliding_window"),
    # published files have the base of the rotary embedding there
    ("dbrx", "attn_config"),
    # published models of mT5 and umT5 have false there, and were trained without a scale
    ("umt5", "tie_word_embeddings"), ("umt5", "-tie_word_embeddings"),
    # of no kind of layers: transformers ignores it there, or fails
    ("gemma3n_text", "rope_parameters"),
    # a file without a head is tied
    ("gemma3n_text", "tie_word_embeddings"),
    ("gemma4_text", "tie_word_embeddings"), ("gemma4-experts", "tie_word_embeddings"),
    ("lfm2", "tie_word_embeddings"), ("lfm2_moe", "tie_word_embeddings"),
    ("mamba", "tie_word_embeddings"),
    # transformers divides the weights of a file by it once more
    ("", "rescale_prenorm_residual"),
    # where transformers expects a head of other names, or of its own, which the file lacks
    ("deberta-v2", "legacy"), ("deberta-v2", "tie_word_embeddings"),
}

LINEAR = {"rope_type": "linear", "factor": 2.0}
EXTRA = [  # changes that any file may have
    {"is_causal": False}, {"rope_theta": 77.0}, {"partial_rotary_factor": 0.5},
    {"rope_scaling": LINEAR}, {"rope_parameters": LINEAR | {"rope_theta": 50.0}},
    {"rope_scaling": LINEAR, "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}},
    {"rope_parameters": {"full_attention": LINEAR | {"rope_theta": 50.0},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}},
    {"use_bidirectional_attention": True}, {"sliding_window": 2}, {"use_sliding_window": True},
    {"use_sliding_window": True, "sliding_window": 2}, {"tie_word_embeddings": True},
    {"tie_word_embeddings": False}, {"attention_bias": True}, {"mlp_bias": True},
    {"clip_qkv": 0.5}, {"logit_scale": 2.0}, {"is_decoder": True}, {"add_cross_attention": True},
    {"position_embedding_type": "relative_key"}]
NESTED = "gemma3_text", "gemma3n_text", "modernbert", "olmo3"  # those with two rotary embeddings
SPECIAL = {"moe_norm_min": 0.6, "feed_forward_proj": "gated-silu", "layer_norm_epsilon": 0.5,
           "max_position_embeddings": 640, "n_positions": 640, "partial_rotary_factor": 0.25}


def other(key, value):
    """Another value of a key; None: there is none to try."""
    if key in SPECIAL and SPECIAL[key] != value:
        return SPECIAL[key]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 3 + 0.25
    if isinstance(value, str):
        acts = "act" in key or key == "afn"
        return ("relu" if value != "relu" else "silu") if acts else value + "s"
    if key == "layer_types" and value:
        return ["full_attention"] * len(value) if "sliding_attention" in value else [
            "sliding_attention"] * len(value)
    if isinstance(value, list) and len(set(map(str, value))) > 1:
        return value[::-1]
    return None


def changes_of(config, known):
    """All changes of a config, each once."""
    seen, changes = [], []

    def add(change):
        if change not in seen and any(change.get(k) != config.get(k) for k in change):
            seen.append(change)
            changes.append(change)
    for key in sorted((set(config) | set(known)) - SKIP):
        value = config.get(key, known.get(key))
        if any(part in key for part in IDLE):
            continue
        if key in config:
            add({"-" + key: 0})
            if value is not None:
                add({key: None})
        if isinstance(value, dict):
            for name in value:
                member = other(name, value[name])
                if member is not None and not isinstance(value[name], dict):
                    add({key: value | {name: member}})
        elif key not in config and value is None:
            add({key: 3})
        elif other(key, value) is not None:
            add({key: other(key, value)})
    scaling = config.get("rope_scaling") or {}
    if scaling.get("type") == "longrope":
        add({"rope_scaling": scaling | {"factor": 3.0}})
    if config["model_type"].startswith("gemma3"):  # as in published files
        add({"-max_position_embeddings": 0, "rope_scaling": LINEAR})
    if config["model_type"] == "bamba":  # a share counts there, but not outside
        add({"rope_parameters": LINEAR | {"rope_theta": 50.0, "partial_rotary_factor": 1.0}})
    if config["model_type"] == "t5":
        add({"tie_word_embeddings": True, "scale_decoder_outputs": False})
        add({"tie_word_embeddings": True, "scale_decoder_outputs": True})
    for change in EXTRA:
        nested = "full_attention" in change.get("rope_parameters", {})
        if not nested or config["model_type"] in NESTED:
            add(change)
    return changes


def changed(config, change):
    if "text_config" in config:
        return config | {"text_config": changed(config["text_config"], change)}
    config = dict(config)
    for key, value in change.items():
        if key.startswith("-"):
            config.pop(key[1:], None)
        else:
            config[key] = value
    return config


def weigh(rows):
    """One number of all logits."""
    flat = [x for row in rows for x in row]
    return sum(((7 * k) % 11 - 5) / 5 * x for k, x in enumerate(flat))


class Model:
    def __init__(self, name, program):
        self.folder, self.program = FOLDER / name, program
        self.config = changed(json.loads((self.folder / "config.json").read_text()),
                              BASES.get(name, {}))
        data = (self.folder / "expected.safetensors").read_bytes()
        notes = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        self.notes = {key: json.loads(value) for key, value in notes.items()}

    def in_folder(self, config, do):
        folder = tempfile.mkdtemp()
        try:
            pathlib.Path(folder, "config.json").write_text(json.dumps(config))
            os.symlink((self.folder / "model.safetensors").resolve(),
                       folder + "/model.safetensors")
            return do(folder)
        finally:
            shutil.rmtree(folder)

    def ours(self, config):
        """The logits, or the message."""
        def do(folder):
            texts = []
            for key, option in (("ids", "--ids"), ("source_ids", "--source")):
                if self.notes.get(key):
                    texts += [option, ",".join(map(str, self.notes[key]))]
            run = subprocess.run(
                [self.program, "run", "-q", "-m", folder, *texts, "--show", "logits", "--format",
                 "json", "--special", "none", "--long"], capture_output=True, text=True)
            if run.returncode and "--long" in run.stderr:
                run.args.remove("--long")
                run = subprocess.run(run.args, capture_output=True, text=True)
            if run.returncode:
                return run.stderr
            return json.loads(run.stdout)["tensors"]["logits"]
        return self.in_folder(config, do)

    def theirs(self, config):
        """The logits, or None."""
        def do(folder):
            model = getattr(transformers, config["architectures"][0]).from_pretrained(
                folder, dtype=torch.float64 if config["model_type"] != "xglm" else torch.float32,
                attn_implementation="sdpa" if config["model_type"] == "falcon" else "eager",
                experts_implementation="eager",  # (eager Falcon adds ALiBi twice)
                ignore_mismatched_sizes="vision_config" in config).eval()
            ids, source = torch.tensor([self.notes["ids"]]), self.notes.get("source_ids")
            given = ({"input_ids": torch.tensor([source]), "decoder_input_ids": ids} if source
                     else {"input_ids": ids})
            with torch.no_grad():
                return model(**given, use_cache=False).logits[0].tolist()
        torch.manual_seed(0)
        try:
            return self.in_folder(config, do)
        except Exception as error:
            self.error = f"{type(error).__name__}: {str(error)[:90]!r}"
            return None


def close(a, b, by=1e-4):
    return abs(a - b) <= by * (1 + abs(b))


def lines_of(name, program):
    model = Model(name, program)
    base_ours, base_theirs = model.ours(model.config), model.theirs(model.config)
    assert not isinstance(base_ours, str), base_ours
    base = weigh(base_ours)
    if base_theirs is None or not close(base, weigh(base_theirs)):
        print(f"{name}: transformers: {base_theirs and weigh(base_theirs)}, not {base}",
              getattr(model, "error", ""), file=sys.stderr)
        base_theirs = None
    text = model.config.get("text_config", model.config)
    try:
        kind = transformers.CONFIG_MAPPING[text["model_type"]]
        known = {k: v for k, v in kind().to_dict().items()}
    except Exception:
        known = {}
    numbers, same, refused, misfits, last = [], {}, {}, {}, None
    for change in changes_of(text, known):
        key, label = next(iter(change)), json.dumps(change)
        ours = model.ours(changed(model.config, change))
        if change[key] is None and ours == last:
            continue  # as without the key
        last = ours
        if isinstance(ours, str):
            by_name = any(f"'{k.lstrip('-')}'" in ours for k in change)
            if by_name and key not in REFUSED and key not in SIZES:
                theirs = model.theirs(changed(model.config, change))
                if theirs and len(theirs) == len(base_ours):
                    print(f"{name}: {label}: {ours.strip()[-70:]}, transformers computes",
                          weigh(theirs), file=sys.stderr)
            if len(change) == 1:
                (refused if by_name else misfits)[key] = change[key]
            continue
        theirs = base_theirs and model.theirs(changed(model.config, change))
        number, own = weigh(ours), any((at, k) in OWN for at in ("", name) for k in change)
        if theirs is None:
            if base_theirs and ours != base_ours:
                print(f"{name}: {label}: computed, transformers fails:", model.error,
                      file=sys.stderr)
        elif not close(number, weigh(theirs)) and not own:
            print(f"{name}: {label}: {number:.6g}, transformers {weigh(theirs):.6g}, unchanged "
                  f"{base:.6g}", file=sys.stderr)
        if ours == base_ours and len(change) == 1 and key not in same:
            same[key] = change[key]
        elif ours != base_ours:
            used = number if theirs is None or own else weigh(theirs)
            numbers.append([change, float(f"{used:.6g}")])
    yield [name, model.notes["ids"], model.notes.get("source_ids", []), BASES.get(name, {}),
           float(f"{base:.6g}")]
    yield from numbers
    for word, group in (("same", same), ("refused", refused), ("misfits", misfits)):
        if group:
            yield [word, group]


for name in sys.argv[2:] or MODELS:
    for line in lines_of(name, sys.argv[1]):
        print(json.dumps(line, separators=(",", ":")), flush=True)
