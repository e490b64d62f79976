// The stations of a pass: the tensors of a model in the order of the pass, for walk.js.

const STREAM = /^(enc\.)?resid_/;
const OF_MLP = /^(enc\.)?(ln_2|mlp_)/;
const BESIDE = [/^(q|k)_pre$/, /^(enc\.|cross_)?[qkv]$/, /^mlp_(gate|up)$/]; // computed together

// All tensors of the pass; if the page has no list, the tensors in the page.
function sitesOf(sentence) {
    const list = sentence.sites || sentence.kinds.flatMap((kind) => [kind, 0]);
    const sites = [];
    for (let i = 0; i < list.length; i += 2) sites.push({ name: list[i], layers: list[i + 1] });
    return sites;
}

// Parts are of the source and of the text itself; a part has blocks: each layer, and the
// tensors before and after all layers. { title, stations: [{ name, layer, tensor, number }] }
function partsOf(sentence) {
    const ofSource = (site) => /^(source_|enc\.)/.test(site.name);
    let number = 0;
    const station = (site, layer) => ({
        name: site.name,
        layer,
        tensor: sentence.tensors.find((one) => one.tensor === site.name && one.layer === layer),
        number: number++,
    });
    const partOf = (title, sites) => {
        const blocks = [];
        const layered = sites.filter((site) => site.layers);
        const count = Math.max(0, ...layered.map((site) => site.layers));
        const first = count ? sites.indexOf(layered[0]) : sites.length;
        const add = (name, list, layer) => {
            const stations = list.map((site) => station(site, layer));
            if (stations.length) blocks.push({ title: name, stations });
        };
        add('', sites.slice(0, first), null);
        for (let layer = 0; layer < count; layer++) add(say('layer #', layer), layered, layer);
        const after = sites.slice(first).filter((site) => !site.layers);
        add('', after, null);
        return { title, blocks };
    };
    const sites = sitesOf(sentence);
    if (!sites.some(ofSource)) return [partOf('', sites)];
    const own = sites.filter((site) => !ofSource(site));
    return [partOf(say('The source'), sites.filter(ofSource)), partOf(say('The text'), own)];
}

// Rows of a block: branches, and the residual stream that they are added to, if any.
function rowsOf(block) {
    const rows = [];
    let branch = [];
    const isStream = (one) => STREAM.test(one.name) || one.layer === null;
    for (const one of block.stations) {
        if (!isStream(one)) {
            branch.push(one);
            continue;
        }
        rows.push({ branches: branchesOf(branch), stream: one });
        branch = [];
    }
    if (branch.length) rows.push({ branches: branchesOf(branch), stream: null });
    return rows;
}

// Attention and MLP of a model where both read the same stream are two branches.
function branchesOf(stations) {
    const mlp = stations.findIndex((one) => OF_MLP.test(one.name));
    const parallel = mlp > 0 && stations.slice(0, mlp).some((one) => /attn_out$/.test(one.name));
    const parts = parallel ? [stations.slice(0, mlp), stations.slice(mlp)] : [stations];
    return parts.filter((part) => part.length).map(stepsOf);
}

// Stations computed together form one step.
function stepsOf(stations) {
    const steps = [];
    const kindOf = (one) => BESIDE.findIndex((kind) => kind.test(one.name));
    for (const one of stations) {
        const last = steps.at(-1);
        if (last && kindOf(one) >= 0 && kindOf(one) === kindOf(last[0])) last.push(one);
        else steps.push([one]);
    }
    return steps;
}
