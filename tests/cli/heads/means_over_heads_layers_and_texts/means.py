import json, math
rows = json.load(open("each"))["tables"]["heads"]
names = [name for name in rows[0] if name not in ("model", "layer", "head")]
for axes, keys in ("heads", ("model", "layer")), ("layers", ("model", "head")), ("heads,layers,texts", ("model",)):
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    found = json.load(open(axes))["tables"]["heads"]
    wrong = [list(row)[:len(keys)] for row in found if list(row) != [*keys, *names]]
    for row in found:
        group = groups.pop(tuple(row[key] for key in keys))
        for name in names:
            values = [one[name] for one in group if one[name] is not None]
            mean = sum(values) / len(values) if values else None
            if (row[name] is None) != (mean is None) or mean is not None and not math.isclose(row[name], mean, rel_tol=1e-6, abs_tol=1e-9):
                wrong.append((row, name, mean))
    print(axes, len(found), "rows", wrong, groups)
