// Time and work in a page. No test judges how fast a page is: it waits until nothing waits in the
// page, lets a clock that stands still go on, counts what the page does, or reports a time as a
// ratio to that of a loop of arithmetic in the same page.

// Runs in a page before its scripts. Counts timers and frames that wait. If the clock stands still,
// they wait for window.clock.pass(ms); window.clock.spend(ms) is work that takes time.
export function watchTime(isStill) {
    const FRAME = 16;
    const [later, frame] = [setTimeout, requestAnimationFrame];
    const realNow = performance.now.bind(performance);
    const waiting = new Map(); // what acts when, by a name
    let [now, last] = [0, 0];
    const put = (act, at) => {
        last += 1;
        waiting.set(last, { act, at });
        return last;
    };
    const counted = (begin, end, kind) => [
        (act, ...rest) => {
            const id = begin((...given) => {
                waiting.delete(`${kind} ${id}`);
                act(...given);
            }, ...rest);
            waiting.set(`${kind} ${id}`, {});
            return id;
        },
        (id) => {
            waiting.delete(`${kind} ${id}`);
            end(id);
        },
    ];
    if (isStill) {
        performance.now = () => now;
        window.setTimeout = (act, ms, ...rest) =>
            put(() => act(...rest), now + Math.max(1, Number(ms) || 0));
        window.requestAnimationFrame = (act) =>
            put(() => act(now), FRAME * (Math.floor(now / FRAME) + 1));
        window.clearTimeout = (id) => waiting.delete(id);
        window.cancelAnimationFrame = window.clearTimeout;
    } else {
        [window.setTimeout, window.clearTimeout] = counted(later, clearTimeout, 'timer');
        [window.requestAnimationFrame, window.cancelAnimationFrame] = counted(
            frame,
            cancelAnimationFrame,
            'frame',
        );
    }
    window.clock = {};
    window.clock.pass = (ms) => {
        const end = now + ms;
        for (;;) {
            let next = null;
            for (const [id, { at }] of waiting)
                if (at <= end && !(next?.at <= at)) next = { id, at };
            if (!next) break;
            const { act } = waiting.get(next.id);
            waiting.delete(next.id);
            now = Math.max(now, next.at);
            act();
        }
        now = Math.max(now, end);
    };
    window.clock.spend = (ms) => (now += ms);
    // Two frames have been drawn, and transitions have ended.
    window.clock.drawn = async () => {
        if (isStill) window.clock.pass(2 * FRAME);
        else await new Promise((done) => frame(() => frame(done)));
        for (const one of document.getAnimations()) one.finish();
    };
    // Nothing waits any more.
    window.clock.quiet = async () => {
        for (let frames = 0; waiting.size || !frames; frames++) {
            if (isStill) window.clock.pass(FRAME);
            else await new Promise((done) => later(done, 10));
            if (isStill && frames > 1e5) throw new Error('something never ends');
        }
        await window.clock.drawn();
    };
    const timeOf = async (act) => {
        const began = realNow();
        await act();
        return realNow() - began;
    };
    // Milliseconds of a loop of arithmetic.
    window.clock.loop = () =>
        timeOf(() => {
            let sum = 0;
            for (let i = 0; i < 1e7; i++) sum += Math.sqrt(i);
            window.sum = sum;
        });
    // How long an act takes, as a ratio to that loop: the median of several acts.
    window.clock.ratio = async (acts) => {
        const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
        const [times, loops] = [[], []];
        for (const act of acts) {
            times.push(await timeOf(act));
            if (loops.length < 5) loops.push(await window.clock.loop());
        }
        return median(times) / median(loops);
    };
}

// Runs in a page before its scripts. window.work counts calls that draw on canvases, by name (a
// matrix of cells is one putImageData); `made`: new elements; `decoded`: tensors; `arrays`: of
// numbers; `runs`: of the engine of a live page.
export function countWork() {
    const work = { made: 0, decoded: 0, arrays: 0, runs: 0 };
    const count = (object, name, as = name) => {
        const own = object[name];
        work[as] ??= 0;
        object[name] = function counted(...given) {
            work[as] += 1;
            return own.apply(this, given);
        };
    };
    const { prototype } = CanvasRenderingContext2D;
    for (const name of ['fillRect', 'strokeRect', 'fillText', 'drawImage', 'putImageData'])
        count(prototype, name);
    for (const name of ['fill', 'stroke']) count(prototype, name);
    count(Document.prototype, 'createElement', 'made');
    count(Document.prototype, 'createElementNS', 'made');
    count(window, 'atob', 'decoded');
    if (Uint8Array.fromBase64) count(Uint8Array, 'fromBase64', 'decoded');
    const construct = (array, given) => {
        work.arrays += 1;
        return Reflect.construct(array, given);
    };
    for (const name of ['Float32Array', 'Float64Array'])
        window[name] = new Proxy(window[name], { construct });
    const { instantiate } = WebAssembly;
    WebAssembly.instantiate = async (...all) => {
        const { instance } = await instantiate(...all);
        const exports = { ...instance.exports };
        count(exports, 'live_run', 'runs');
        return { instance: { exports } };
    };
    window.work = work;
    // What an act adds to each count.
    window.workOf = async (act) => {
        const before = { ...work };
        await act();
        return Object.fromEntries(
            Object.entries(work).map(([name, value]) => [name, value - before[name]]),
        );
    };
}
