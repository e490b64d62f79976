// Motion: the journey of one query through a head, its layer and the model, played, stepped and
// scrubbed. state.at: seconds; the picture is a function of them alone.

const LAYERS_LISTED = 6; // more layers are in a menu
const calm = window.matchMedia('(prefers-reduced-motion: reduce)');
const motion = { frame: 0, last: 0, until: 0, speed: 1, yaw: -0.1, pitch: -0.2,
    heads: {}, keptOf: [], shows: [] }; // heads: chosen ones, by layer

// The query that travels: the selected one, or a lesson step's.
const motionRow = () => motion.step?.row ?? selectedRow();

// All scenes of a query, one after another: { at (the layer), scene, scenes, start, seconds }.
function planOf() {
    const { step } = motion;
    const tensors = motionTensors();
    const heads = tensors.map((_, at) => followedHead(at)).join();
    return kept(`plan ${heads} ${step?.at} ${step?.scenes}`, () => {
        const plan = [];
        const add = (at, scene, scenes) => {
            const { start, seconds } = plan.at(-1) || { start: 0, seconds: 0 };
            plan.push({ at, scene, scenes, start: start + seconds, seconds: SCENES[scene][1] });
        };
        const isIn = (at, scene) =>
            !step?.scenes || (at === step.at && step.scenes.includes(scene));
        tensors.forEach((_, at) => {
            const scenes = scenesOf(at);
            for (const scene of scenes) if (isIn(at, scene)) add(at, scene, scenes);
        });
        const { nextTokens, masks } = current();
        const predicts = nextTokens && (!masks || masks.includes(motionRow()));
        if (predicts && !step?.scenes && tensors[0].row_labels === 'sentence')
            add(tensors.length - 1, 'predict', ['predict']);
        return plan;
    });
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
function fitScene(isLow) {
    const [scene, player] = [byId('stage-canvas').parentElement, byId('player')];
    const below = player.getBoundingClientRect().bottom - scene.getBoundingClientRect().bottom;
    const top = scene.getBoundingClientRect().top + window.scrollY;
    const isShort = motion.step?.scenes || isProjecting();
    const share = isLow ? 0.34 : 0.5; // of the window, in a step of the lesson
    const asks = motion.step ? document.querySelector('.asks')?.offsetHeight + 16 : 0;
    const room = isShort ? share * window.innerHeight
        : window.innerHeight - top - below - (asks || 4);
    const high = Math.max(isLow ? 240 : phone.matches ? 360 : 300, room);
    scene.style.height = `${Math.floor(high)}px`;
}

// Draw a moment on the canvas, in the size of its frame.
function drawMoment(journey, moment) {
    const canvas = byId('stage-canvas');
    const { clientWidth: wide, clientHeight: high } = canvas.parentElement;
    const pixels = window.devicePixelRatio || 1;
    const [width, height] = [wide, high].map((size) => Math.round(size * pixels));
    if (canvas.width !== width || canvas.height !== height)
        Object.assign(canvas, { width, height });
    const context = canvas.getContext('2d');
    context.setTransform(pixels, 0, 0, pixels, 0, 0);
    context.clearRect(0, 0, wide, high);
    const pen = new Pen(context, clamp(high / 23, 19, 28), wide < 700);
    Object.assign(motion, { space: null, headsAt: null });
    const Picture = isOfStream(moment.scene) ? StreamPicture : HeadPicture;
    new Picture(pen, journey, moment, { wide, high }).draw();
}

const isOfStream = (scene) => /heads|stream|mlp|predict/.test(scene);

function drawMotion() {
    takeNumbers();
    state.at = clamp(state.at, 0, totalTime());
    const isAtRest = !motion.frame && !state.at; // with the first vectors in full
    const moment = momentAt(isAtRest ? planOf()[0].seconds - LEAST_TIME : state.at);
    const journey = journeyOf(moment.at);
    const { scene, scenes } = moment;
    const place = scenes.length > 1 ? `${scenes.indexOf(scene) + 1}/${scenes.length} · ` : '';
    const head = motion.step?.scenes ? '' : `${journey.name} · ${place}`; // a lesson names it
    const title = head + sceneName(journey, scene);
    setText('scene-title', title);
    setText('scene-words', sceneWords(journey, scene));
    drawPlayer(journey, moment, title);
    drawMissing(journey, scene);
    fitScene(motion.step?.scenes && isOfStream(scene));
    drawMoment(journey, moment);
    setText('motion-note', noteOf(journey));
    if (!motion.frame) drawMotionTable();
    takeNeighbours(moment);
    motion.row = motionRow();
}

function noteOf({ q, seen, context }) {
    if (!motion.space || !q) return motion.headsAt ? say('Click a head to follow it.') : '';
    const each = Math.ceil(q.length / CELLS_OF_HEAD);
    const cells = each > 1 && say('a cell: the largest of # numbers', each);
    const words = phone.matches ? say('drag to turn')
        : context.length <= 3 ? say('drag to turn · the axes are the dimensions')
        : say('drag to turn · the context at true length; of all values # is visible',
            `${Math.round(100 * seen)} %`);
    return [cells, words].filter(Boolean).join(' · ');
}

// The buttons of the scenes and of the layers, the slider, and Play.
function drawPlayer(journey, moment, title) {
    const plan = planOf();
    const isEnd = moment.scene === 'predict';
    const go = (number) => stepTo(planOf()[number]);
    const numberOf = (at) => plan.findIndex((one) => one.at === at);
    const scenes = plan.flatMap(({ at, scene }, number) => (at === moment.at && scene !== 'predict'
        ? [[number, sceneName(journey, scene), { 'data-scene': scene }]] : []));
    const layers = motionTensors().map((one, at) => [numberOf(at),
        say(one.isMixer ? 'Layer #, mixer' : 'Layer #', one.layer), { 'data-scene': at }]);
    const end = plan.length - 1;
    if (plan[end].scene === 'predict')
        layers.push([end, say('Prediction'), { 'data-scene': 'end' }]);
    const chosen = isEnd ? end : numberOf(moment.at);
    const isMenu = layers.length > LAYERS_LISTED;
    byId('motion-layer').hidden = !isMenu;
    byId('motion-layers').hidden = isMenu;
    drawSegments(byId('scenes'), scenes, moment.number, go);
    if (isMenu) fill(byId('motion-layer'), layers, chosen);
    else drawSegments(byId('motion-layers'), layers, chosen, go);
    const scrub = byId('scrub');
    Object.assign(scrub, { max: totalTime(), value: state.at });
    scrub.setAttribute('aria-valuetext', title);
    const words = motion.frame ? 'Pause' : 'Play';
    if (byId('play').dataset.does === words) return;
    byId('play').dataset.does = words;
    byId('play').setAttribute('aria-label', `${words} (Space)`);
    byId('play').replaceChildren(icon(words.toLowerCase()), element('span', words));
}

// What a head without numbers would need.
function drawMissing({ tensor, index, q, sentence, row }, scene) {
    const box = byId('motion-missing');
    const isOther = tensor === motionTensors()[state.layer] && index !== state.head;
    const needs = !tensor.isMixer && !q && !isOfStream(scene);
    box.hidden = Boolean(motion.step) || !(needs || isOther);
    if (box.hidden) return;
    const name = tensor.headName(isOther ? state.head : index);
    const key = `${name} ${row} ${isChinese()}`;
    if (box.dataset.shows === key) return;
    box.dataset.shows = key;
    const said = say('This view has no queries, keys and values of #.', shownHead(name));
    const isLost = live.engine || !/^\d+\.\d+$/.test(name); // no command includes it
    box.replaceChildren(...(isLost ? [element('p', said)] : lacksOfHead(sentence, name)));
}

// --- the numbers of a scene as a table ---------------------------------------------------------

function drawMotionTable() {
    const box = byId('motion-numbers');
    const into = box.querySelector('.table');
    const { at, scene } = momentAt(state.at);
    const journey = journeyOf(at);
    const shows = [journey, scene];
    if (into.firstChild && shows.every((one, i) => one === motion.shows[i])) return;
    motion.shows = shows;
    into.replaceChildren();
    if (!box.open) return;
    const { heads, rows } = tableRows(journey, scene);
    into.append(tableRegion(say('All numbers as a table'),
        tableOf(heads, rows.map(([name]) => name), (row, column) => rows[row][1][column])));
}

// Names of columns; names and texts of rows.
function tableRows(journey, scene) {
    const { context, contexts, keys, q, query, steps, tensor, x } = journey;
    const text = (value) =>
        (tensor.coding === 'exact' ? exact(Math.fround(value)) : tensor.text(value));
    const texts = (list) => [...list].map(text);
    const numbers = (name, list) => [...list].map((_, at) => `${name}${at}`);
    if (scene === 'predict')
        return { heads: [say('probability')], rows: likeliestOf(journey).map((one) =>
            [one.name, [shortest(Math.fround(one.share))]]) };
    if (isOfStream(scene))
        return { heads: numbers('', steps[0]?.values || context), rows: [
            ...contexts.map((list, head) => [`${say('context')} ${tensor.shownHead(head)}`, list]),
            ...steps.map(({ name, values }) => [name, values]),
        ].map(([name, list]) => [name, texts(list)]) };
    if (scene === 'vector') return { heads: numbers('x', x), rows: [[query, texts(x)]] };
    if (!q)
        return { heads: [say('weight')], rows: keys.map((one) => [one.label, [text(one.weight)]]) };
    const [name, last, sum] = /values|sum/.test(scene) ? ['v', say('context'), context]
        : ['k', 'q', q];
    const ofKey = (one) => [text(one.raw), one.hidden ? '−∞' : text(one.scaled), text(one.by),
        ...texts(one[name])];
    const rows = keys.map((one) => [one.label, ofKey(one)]);
    rows.push([last, ['', '', '', ...texts(sum)]]);
    return { heads: ['q · k', say('score'), say('weight'), ...numbers(name, sum)], rows };
}

// --- playing -----------------------------------------------------------------------------------

const LEAST_TIME = 0.001; // before the end of a scene: its finished picture

// Go to a time, and play from there to another.
function playFrom(from, until = from) {
    stopMotion();
    state.at = clamp(from, 0, totalTime());
    Object.assign(motion, { until, last: performance.now() });
    if (until > from) motion.frame = requestAnimationFrame(tick);
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

// Play one scene, and stop; readers who want no motion get the finished picture at once.
function stepTo({ start, seconds }) {
    const end = start + seconds - LEAST_TIME;
    if (calm.matches) scrubTo(end);
    else playFrom(start, end);
    announce(byId('scene-words').textContent);
}

function stepScene(by) {
    const plan = planOf();
    stepTo(plan[clamp(momentAt(state.at).number + by, 0, plan.length - 1)]);
}

function togglePlay() {
    if (motion.frame) return scrubTo(state.at);
    if (calm.matches) return stepScene(1);
    return playFrom(state.at >= totalTime() - 0.01 ? 0 : state.at, totalTime());
}

function scrubTo(time) {
    playFrom(time);
    rememberState();
}

function turnArrows(across, down) {
    motion.yaw += across;
    motion.pitch = clamp(motion.pitch + down, -1.5, 1.5);
    drawMotion();
}

const OF_HEADS = ['q', 'k', 'v', 'scores', 'masked', 'difference', 'softmax'];

// A live page asks the engine for what Motion draws, once for each text: first for the streams, and
// then for the heads of the layer that is shown and, while nothing else happens, of its neighbours.
function takeNumbers(at = null) {
    const sentence = current();
    if (!live.engine || !sentence.request) return;
    const ask = (names, layer = '') => {
        const show = sentence.sites.filter((name) => names.includes(name)).join(',');
        motion.keptOf = [];
        if (!show) return []; // a layer without attention has none of them
        return new Sentence(askTensors(sentence.request, show, layer)).tensors;
    };
    const parts = (sentence.blocks || []).flat().flatMap(({ adds, sums }) => [adds, ...sums]);
    sentence.streams ??= { query: -1, tensors: ask(['resid_pre', 'ln_1', 'context', ...parts]) };
    const layer = motionTensors()[at ?? momentAt(state.at).at]?.layer;
    sentence.taken ??= new Set();
    if (layer === undefined || sentence.taken.has(layer)) return;
    sentence.taken.add(layer);
    sentence.motionTensors.push(...ask(OF_HEADS, String(layer)));
}

// Ask for the numbers of layers next to a moment's layer, one when nothing else happens.
function takeNeighbours({ at }) {
    clearTimeout(motion.taking);
    const next = [at + 1, at - 1].find((one) =>
        motionTensors()[one] && !current().taken?.has(motionTensors()[one].layer));
    if (!live.engine || next === undefined) return;
    motion.taking = setTimeout(() => shownScreen().name === 'motion' && takeNumbers(next), 200);
}

// Put the player above the figures of a step of the lesson: the query of its first mark, a scene;
// on a slide with the marks whose numbers its text says.
function showStep(page, { lesson }, marks, scene, said) {
    const [mark] = marks;
    const isSaid = ({ tensor, index, row, column }) =>
        !said || said.has(Math.abs(tensor.at(index, row, column)).toFixed(LESSON_PLACES));
    motion.step = { row: mark?.row, head: mark?.index || 0, scenes: lesson.scene?.split(' '),
        marks: marks.filter((one) => one.row === mark.row && isSaid(one)) };
    const isMarked = ({ layer }) => layer === mark?.tensor.layer;
    motion.step.at = Math.max(0, motionTensors().findIndex(isMarked));
    page.prepend(motion.box);
    const opened = planOf().find((one) => one.scene === scene) || planOf()[0];
    if (motion.of !== lesson.title + scene) state.at = opened.start + opened.seconds - LEAST_TIME;
    motion.of = lesson.title + scene;
    drawMotion();
}

// In its place, leave a still of the scene: paper does not move.
function leaveStill() {
    const canvas = byId('stage-canvas');
    const still = Object.assign(canvas.cloneNode(), { id: '', className: 'still' });
    still.getContext('2d').drawImage(canvas, 0, 0);
    motion.box.after(still);
    keepMotion();
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
    on('play', 'click', togglePlay);
    on('step-back', 'click', () => stepScene(-1));
    on('step-on', 'click', () => stepScene(1));
    on('scrub', 'input', () => playFrom(Number(byId('scrub').value)));
    on('scrub', 'change', rememberState); // browsers refuse many changes of the address
    on('speed', 'change', () => (motion.speed = Number(byId('speed').value)));
    on('motion-layer', 'change', ({ target }) => stepTo(planOf()[target.value]));
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
    if (motion.step || at !== state.layer) return drawMotion();
    return set({ head });
}

// Begin in the layer of the selected head, at its finished first picture. With their numbers, the
// layers before it have all their scenes.
function enterMotion() {
    for (let at = 0; at <= state.layer; at++) takeNumbers(at);
    if (momentAt(state.at).at === state.layer) return;
    const found = planOf().find((one) => one.at === state.layer);
    if (found) state.at = found.start + found.seconds - LEAST_TIME;
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
    parts: ['motion', 'head', 'words'],
    state: { at: 0 },
    address: {
        at: [({ at, lesson }) => (at && !lesson ? Number(at.toFixed(3)) : ''),
            (text) => ({ at: Number(text) || 0 })],
    },
    isAvailable() { // pages of a model with the maps of a whole text
        const [first] = motionTensors();
        const isHead = first && (first.heads || first.isMixer) && !first.mean_of;
        const isOfModel = isHead && !current().files;
        return Boolean(isOfModel && first.row_labels !== 'words' && first.labels('row'));
    },
    draw() {
        drawWords();
        drawMotion();
    },
    highlight(cell) {
        highlightChips(cell);
        if (motion.row !== motionRow()) drawMotion();
    },
    focus: () => byId('play').focus(),
    enter: enterMotion,
    leave: stopMotion,
    listen: listenToMotion,
    keys: MOTION_KEYS,
});
