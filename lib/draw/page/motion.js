// Motion: the journey of one query through a head, its layer and the model, played, stepped and
// scrubbed. state.at: seconds; the picture is a function of them alone.

const SCENES = {
    vector: ['Vector', 2],
    project: ['q, k', 2.5],
    dot: ['q · k', 4],
    scale: ['÷ √d', 2.5],
    mask: ['Mask', 2],
    softmax: ['Softmax', 4],
    values: ['Values', 2.5],
    sum: ['Sum', 4],
    map: ['Map', 4],
    heads: ['Heads', 2.5],
    stream: ['Stream', 3],
    mlp: ['MLP', 3],
    predict: ['Prediction', 3],
};
const LAYERS_LISTED = 6; // more layers are in a menu
const calm = window.matchMedia('(prefers-reduced-motion: reduce)');
const motion = { frame: 0, last: 0, until: 0, speed: 1, yaw: 0.35, pitch: -0.2 };
Object.assign(motion, { heads: {}, followed: new Map() }); // by layer; those found

// The query that travels: the selected one, or that of a step of the lesson.
const motionRow = () => motion.step?.row ?? selectedRow();

// --- scenes ------------------------------------------------------------------------------------

// The scenes of a layer, as far as the model has them.
function scenesOf(at, row) {
    const made = journeyOf(at, row);
    const steps = made.steps.map((one) => one.of || one.kind);
    const { linear, renormalise } = made.ways;
    const attention = ['project', 'dot', linear ? '' : 'scale'];
    const ends = motionTensors()[at + 1]?.layer !== made.layer; // else a mixer and attention
    const rest = renormalise ? ['softmax', 'mask'] : ['mask', 'softmax'];
    return [
        made.x && 'vector',
        ...(made.tensor.isMixer ? ['map'] : [...attention, ...rest, 'values', 'sum']),
        headContexts(made).length && steps.length && 'heads',
        ends && steps.length > 1 && 'stream',
        ends && steps.includes('MLP') && 'mlp',
    ].filter(Boolean);
}

// All scenes of a query, one after another: { at (the layer), scene, scenes, start, seconds }.
function planOf() {
    const row = motionRow();
    const { step } = motion;
    const { nextTokens, masks } = current();
    const tensors = motionTensors();
    const heads = tensors.map((_, at) => followedHead(at, row)).join();
    const key = [state.sentence, state.runs, tensors[0].tensor, row, heads, step?.scenes].join(' ');
    if (motion.planned === key) return motion.plan;
    const plan = [];
    let start = 0;
    const add = (at, scene, scenes) => {
        plan.push({ at, scene, scenes, start, seconds: SCENES[scene][1] });
        start += SCENES[scene][1];
    };
    tensors.forEach((_, at) => {
        const scenes = scenesOf(at, row);
        const isIn = (scene) => !step?.scenes || (at === step.at && step.scenes.includes(scene));
        for (const scene of scenes.filter(isIn)) add(at, scene, scenes);
    });
    const predicts = nextTokens && (!masks || masks.includes(row));
    if (predicts && !step?.scenes && tensors[0].row_labels === 'sentence')
        add(tensors.length - 1, 'predict', ['predict']);
    Object.assign(motion, { planned: key, plan });
    return plan;
}

function totalTime() {
    const last = planOf().at(-1);
    return last.start + last.seconds;
}

// The scene at a time, and how much of it has passed.
function momentAt(time) {
    const plan = planOf();
    const number = Math.max(0, plan.findLastIndex((one) => one.start <= time));
    const one = plan[number];
    return { ...one, number, p: clamp((time - one.start) / one.seconds, 0, 1) };
}

// --- the picture -------------------------------------------------------------------------------

// The picture gets the height that the other parts leave of the window.
function fitScene() {
    const [scene, player] = [byId('stage-canvas').parentElement, byId('player')];
    const below = player.getBoundingClientRect().bottom - scene.getBoundingClientRect().bottom;
    const top = scene.getBoundingClientRect().top + window.scrollY;
    const share = motion.step?.scenes ? 0.5 : 0.66; // of the window, in a lesson
    const room = motion.step ? share * window.innerHeight : window.innerHeight - top - below - 4;
    const high = Math.max(phone.matches ? 360 : 300, room);
    scene.style.height = `${Math.floor(high)}px`;
}

// Draw a moment on a canvas of its element's size.
function drawMoment(canvas, moment) {
    const { clientWidth: wide, clientHeight: high } = canvas.parentElement;
    const pixels = window.devicePixelRatio || 1;
    const [width, height] = [wide, high].map((size) => Math.round(size * pixels));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas,
        { width, height });
    const context = canvas.getContext('2d');
    context.setTransform(pixels, 0, 0, pixels, 0, 0);
    context.clearRect(0, 0, wide, high);
    const small = wide < 700;
    const pen = new Pen(context, clamp(high / 23, 19, 28), small);
    Object.assign(motion, { space: null, headsAt: null });
    const ofHead = ['heads', 'stream', 'mlp', 'predict'].indexOf(moment.scene) < 0;
    const Picture = ofHead ? HeadPicture : StreamPicture;
    const journey = journeyOf(moment.at, motionRow());
    new Picture(pen, journey, moment, { wide, high }).draw();
    return journey;
}

function drawMotion() {
    takeNumbers();
    state.at = clamp(state.at, 0, totalTime());
    const moment = momentAt(state.at);
    const journey = journeyOf(moment.at, motionRow());
    const { scene, scenes } = moment;
    const place = scenes.length > 1 ? `${scenes.indexOf(scene) + 1}/${scenes.length} · ` : '';
    const title = `${journey.name} · ${place}${sceneName(moment)}`;
    setText('scene-title', title);
    setText('scene-words', sceneWords(journey, scene));
    drawPlayer(moment, title);
    drawMissing(journey, scene);
    fitScene();
    drawMoment(byId('stage-canvas'), moment);
    setText('motion-note', noteOf(journey));
    if (!motion.frame) drawMotionTable();
    motion.row = motionRow();
}

function setText(id, words) {
    if (byId(id).textContent !== words) byId(id).textContent = words;
}

function noteOf(journey) {
    if (!motion.space || !journey.q) return motion.headsAt ? say('Click a head to follow it.') : '';
    const shownShare = `${Math.round(100 * journey.seen)} %`;
    const cells = journey.q.length > CELLS_OF_HEAD
        ? say('a cell: the largest of # numbers', Math.ceil(journey.q.length / CELLS_OF_HEAD)) : '';
    const words = phone.matches ? say('drag to turn')
        : journey.context.length <= 3 ? say('drag to turn · the axes are the dimensions')
        : say('drag to turn · the context at true length; of all values # is visible', shownShare);
    return [cells, words].filter(Boolean).join(' · ');
}

function drawPlayer(moment, title) {
    const plan = planOf();
    const tensors = motionTensors();
    const go = (entry) => () => entry && stepTo(entry);
    const scenes = plan.filter((one) => one.at === moment.at && one.scene !== 'predict');
    const buttons = (box, entries) =>
        keepOrMake(byId(box), entries, ([id, words, pressed, number]) =>
            buttonFor(go(plan[number]), words, '', { 'aria-pressed': pressed, 'data-scene': id }));
    buttons('scenes', scenes.map((one) =>
        [one.scene, sceneName(one), one.scene === moment.scene, plan.indexOf(one)]));
    const layers = tensors.map((one, at) =>
        [`${at}`, say(one.isMixer ? 'Layer #, mixer' : 'Layer #', one.layer), at === moment.at
        && moment.scene !== 'predict', plan.findIndex((entry) => entry.at === at)]);
    const last = plan.at(-1);
    if (last.scene === 'predict') layers.push(
        ['end', say('Prediction'), moment.scene === 'predict', plan.length - 1]);
    const many = layers.length > LAYERS_LISTED;
    byId('motion-layer').hidden = !many;
    byId('motion-layers').hidden = many;
    const chosen = layers.find(([, , pressed]) => pressed)[3];
    if (many) fill(byId('motion-layer'), layers.map(([, words, , number]) => [number, words]),
        chosen);
    else buttons('motion-layers', layers);
    const scrub = byId('scrub');
    Object.assign(scrub, { max: totalTime(), value: state.at });
    scrub.setAttribute('aria-valuetext', title);
    const words = motion.frame ? 'Pause' : 'Play';
    if (byId('play').dataset.does === words) return;
    byId('play').dataset.does = words;
    byId('play').setAttribute('aria-label', `${words} (Space)`);
    byId('play').replaceChildren(icon(words.toLowerCase()), element('span', words));
}

function sceneName({ scene, at }) {
    const { q, ways, tensor } = motion.journey;
    if (scene === 'softmax' && ways.linear) return say('÷ sum');
    if (scene === 'scale' && q
        && at === motion.journey.at) return scaleWord({ ...motion.journey, ways, tensor })
        || say('no scale');
    return say(SCENES[scene][0]);
}

// What a head without numbers would need.
function drawMissing({ tensor, index, q, sentence, row }, scene) {
    const box = byId('motion-missing');
    const needs = !tensor.isMixer && !q && !/heads|stream|mlp|predict/.test(scene);
    const chosen = motionTensors()[state.layer];
    const other = tensor === chosen && !motion.step && index !== state.head ? state.head : index;
    box.hidden = Boolean(motion.step) || (!needs && other === index);
    if (box.hidden) return;
    const name = tensor.headName(other);
    const key = `${name} ${row} ${isChinese()}`;
    if (box.dataset.shows === key) return;
    box.dataset.shows = key;
    const { layers, heads } = sentence.attention;
    const size = Math.ceil((sentence.explained_bytes || 0) / (layers * heads)).toLocaleString('en');
    const words = ['--explain', explainedNames(sentence, name), '-o', 'page.html'];
    const said = live.engine || !/^\d+\.\d+$/.test(name)
        ? say('This view has no queries, keys and values of #.', shownHead(name))
        : say('This page does not contain the queries, keys and values of #: about # bytes.',
            shownHead(name), size);
    box.replaceChildren(element('p', said));
    if (!live.engine) box.append(commandLine(commandOf(sentence, 'page', words)));
}

// --- the numbers of a scene as a table ---------------------------------------------------------

function drawMotionTable() {
    const box = byId('motion-numbers');
    const into = box.querySelector('.table');
    const moment = momentAt(state.at);
    const journey = journeyOf(moment.at, motionRow());
    const key = `${motion.key} ${moment.scene} ${isChinese()}`;
    if (box.dataset.shows === key && into.firstChild) return;
    box.dataset.shows = key;
    into.replaceChildren();
    if (!box.open) return;
    const wide = tableRegion(into, say('All numbers as a table'));
    const [heads, names, rows] = tableRows(journey, moment.scene);
    wide.append(tableOf(heads, names, (row, column) => rows[row][column]));
}

// Names of columns and rows, and texts.
function tableRows(journey, scene) {
    const { keys, steps, q, row, sentence, context, tensor } = journey;
    const isExact = tensor.coding === 'exact';
    const text = (value) => (isExact ? exact(Math.fround(value)) : tensor.text(value));
    const texts = (list) => [...list].map(text);
    const numbers = (name, list) => [...list].map((_, at) => `${name}${at}`);
    if (scene === 'predict') {
        const list = sentence.nextTokens.likeliest(predictedRow(row, sentence));
        return [[say('probability')], list.map((one) => one.name),
            list.map((one) => [shortest(Math.fround(one.share))])];
    }
    if (/heads|stream|mlp/.test(scene)) {
        const all = [...headContexts(journey).map((values, head) =>
            [`${say('context')} ${journey.tensor.shownHead(head)}`, values]),
            ...steps.map((one) =>
                [/before|sum|after|norm/.test(one.kind) ? streamName(one) : addedName(one),
                one.values])];
        return [numbers('', steps[0]?.values || context), all.map(([name]) => name),
            all.map(([, values]) => texts(values))];
    }
    if (scene === 'vector') return [numbers('x', journey.x), [journey.query], [texts(journey.x)]];
    const isValue = /values|sum/.test(scene) && q;
    const name = isValue ? 'v' : 'k';
    const vector = q ? numbers(name, keys[0][name]) : [];
    const heads = q ? ['q · k', say('score'), say('weight'), ...vector] : [say('weight')];
    const scores = (one) => [text(one.raw), one.hidden ? '−∞' : text(one.scaled)];
    const of = (one) =>
        q ? [...scores(one), text(one.by), ...texts(one[name])] : [text(one.weight)];
    const [labels, rows] = [keys.map((one) => one.label), keys.map(of)];
    if (isValue) rows.push(['', '', '', ...texts(context)]);
    else if (q) rows.push(['', '', '', ...texts(q)]);
    if (q) labels.push(isValue ? say('context') : 'q');
    return [heads, labels, rows];
}

// --- playing -----------------------------------------------------------------------------------

function playTo(from, to) {
    state.at = from;
    cancelAnimationFrame(motion.frame);
    Object.assign(motion, { until: to, last: performance.now(),
        frame: requestAnimationFrame(tick) });
    drawMotion();
}

function tick(now) {
    const passed = Math.max(0, (now - motion.last) / 1000) * motion.speed;
    state.at = Math.min(state.at + passed, motion.until);
    motion.last = now;
    motion.frame = state.at < motion.until ? requestAnimationFrame(tick) : 0;
    drawMotion();
    if (!motion.frame) rememberState();
}

function stopMotion() {
    cancelAnimationFrame(motion.frame);
    motion.frame = 0;
}

const LEAST_TIME = 0.001; // before the end of a scene: its finished picture

// Play one scene, and stop; readers who want no motion get the finished picture at once.
function stepTo({ start, seconds }) {
    stopMotion();
    if (calm.matches) scrubTo(start + seconds - LEAST_TIME);
    else playTo(start, start + seconds - LEAST_TIME);
    announce(byId('scene-words').textContent);
}

function stepScene(by) {
    const plan = planOf();
    stepTo(plan[clamp(momentAt(state.at).number + by, 0, plan.length - 1)]);
}

function togglePlay() {
    if (motion.frame) {
        stopMotion();
        drawMotion();
        return rememberState();
    }
    if (calm.matches) return stepScene(1);
    return playTo(state.at >= totalTime() - 0.01 ? 0 : state.at, totalTime());
}

function scrubTo(time, remember = true) {
    stopMotion();
    state.at = clamp(time, 0, totalTime());
    drawMotion();
    if (remember) rememberState(); // browsers refuse many changes of the address
}

function turnArrows(across, down) {
    motion.yaw += across;
    motion.pitch = clamp(motion.pitch + down, -1.5, 1.5);
    drawMotion();
}

// A live page asks the engine for what Motion draws, once for each text.
function takeNumbers() {
    const sentence = current();
    if (!live.engine || !sentence.request || sentence.taken) return;
    sentence.taken = true;
    const parts = (sentence.blocks || []).flat().flatMap(({ adds, sums }) => [adds, ...sums]);
    const wanted = new Set(['q', 'k', 'v', 'scores', 'masked', 'context', 'difference', 'softmax']);
    for (const name of ['resid_pre', 'ln_1', ...parts]) wanted.add(name);
    const show = sentence.sites.filter((name) => wanted.has(name)).join(',');
    const { tensors } = new Sentence(askTensors(sentence.request, show));
    const ofHeads = tensors.filter((one) => one.heads || one.kv_heads);
    sentence.motionTensors = [...sentence.motionTensors, ...ofHeads];
    sentence.streams = { query: -1, tensors };
    Object.assign(motion, { key: '', planned: '', followed: new Map() });
}

// Put the player above the figures of a step of the lesson, at the query of its first mark.
function showStep(page, { lesson }, marks) {
    const [mark] = marks;
    const isOther = motion.of !== lesson;
    const step = { row: mark?.row, head: mark?.index || 0, scenes: lesson.scene?.split(' ') };
    const framed = marks.filter(({ row }) => row === step.row);
    motion.step = Object.assign(step, { at: 0, marks: framed });
    const isMarked = ({ layer }) => layer === mark?.tensor.layer;
    step.at = Math.max(0, motionTensors().findIndex(isMarked));
    if (!mark) delete motion.step.row;
    page.prepend(motion.box);
    motion.of = lesson;
    const [first] = planOf();
    if (isOther) state.at = first.seconds - LEAST_TIME;
    drawMotion();
}

// Put it back, before the lesson is drawn again.
function keepMotion() {
    stopMotion();
    motion.step = null;
    motion.box.hidden = false;
    byId('columns').append(motion.box);
}

function listenToMotion() {
    motion.box = byId('motion');
    motion.box.addEventListener('keydown', (event) => {
        const act = motion.step && MOTION_KEYS[event.key];
        const own = event.key === ' ' ? 'input, select, button, summary' : 'input, select';
        if (!act || event.target.matches(own)) return;
        act();
        event.preventDefault();
        event.stopPropagation();
    });
    const on = (id, event, act) => byId(id).addEventListener(event, act);
    on('play', 'click', togglePlay);
    on('step-back', 'click', () => stepScene(-1));
    on('step-on', 'click', () => stepScene(1));
    on('scrub', 'input', () => scrubTo(Number(byId('scrub').value), false));
    on('scrub', 'change', rememberState);
    on('speed', 'change', () => (motion.speed = Number(byId('speed').value)));
    on('motion-layer', 'change', () => stepTo(planOf()[byId('motion-layer').value]));
    on('motion-numbers', 'toggle', drawMotionTable);
    const canvas = byId('stage-canvas');
    const within = (box, { offsetX: x, offsetY: y }) =>
        box && x >= box.x && y >= box.y && x <= box.x + box.width && y <= box.y + box.height;
    let held = null;
    canvas.addEventListener('pointerdown', (event) => {
        const heads = motion.headsAt;
        if (within(heads, event)) {
            const head = Math.floor(((event.offsetX - heads.x) / heads.width) * heads.count);
            return followHead(momentAt(state.at).at, head);
        }
        if (!within(motion.space, event)) return null;
        held = [event.clientX, event.clientY];
        return canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
        if (!held) return;
        turnArrows((event.clientX - held[0]) / 120, (event.clientY - held[1]) / 120);
        held = [event.clientX, event.clientY];
    });
    canvas.addEventListener('pointerup', () => (held = null));
    canvas.addEventListener('keydown', (event) => {
        const step = motion.space && arrowOf(event);
        if (step) turnArrows(step[1] * 0.15, step[0] * 0.15);
    });
}

function followHead(at, head) {
    motion.heads[at] = head;
    if (motion.step?.at === at) motion.step.head = head;
    if (motion.step) return drawMotion();
    if (at === state.layer) return set({ head });
    return drawMotion();
}

const moveQuery = (by) => selectRow(clamp(motionRow() + by, 0, motionTensors()[0].rowCount - 1));

const MOTION_KEYS = {
    ' ': togglePlay,
    ArrowRight: () => stepScene(1),
    ArrowLeft: () => stepScene(-1),
    ArrowDown: () => moveQuery(1),
    ArrowUp: () => moveQuery(-1),
    Home: () => scrubTo(0),
    End: () => scrubTo(totalTime()),
    ',': () => scrubTo(state.at - 0.25),
    '.': () => scrubTo(state.at + 0.25),
};

addScreen({
    ...{ name: 'motion', title: 'Motion', key: 'v' },
    parts: ['motion', 'chips'],
    state: { at: 0 },
    address: {
        at: [
            () => (state.at && !state.lesson ? state.at.toFixed(1) : ''),
            (text) => Number(text) || 0,
        ],
    },
    isAvailable: () => canMove(),
    draw: drawMotion,
    highlight: () => motion.row !== motionRow() && drawMotion(),
    focus: () => byId('play').focus(),
    leave: stopMotion,
    listen: listenToMotion,
    keys: MOTION_KEYS,
});

// Whether a page has the maps of a whole text.
function canMove(sentence = current()) {
    const [first] = motionTensors(sentence);
    const isWhole = first && (first.heads || first.isMixer) && first.row_labels !== 'words'
        && !first.mean_of;
    return Boolean(isWhole && first.labels('row'));
}
