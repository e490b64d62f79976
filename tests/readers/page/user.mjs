// A random user: of the live page of each bundled model, of pages that are not live, and of a lesson.
// On every screen each key is pressed and each control is used, in a random order; then follow
// random actions. A script error, a rejected promise and any message in the console fail. After all
// that a live page must run its first text again.
//
// page.mjs imports it. PAGE_ACTIONS: random actions on each page; PAGE_SEED: their seed (1).
// PAGE_ONLY='random user.* recall ' selects a model.
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import {
    LIFE,
    attn,
    counts,
    open,
    quiet,
    same,
    scratch,
    test,
    writePage,
    yes,
} from './harness.mjs';
import { REPEAT } from './tasks.mjs';

const ACTIONS = Number(process.env.PAGE_ACTIONS || 20);
const SEED = Number(process.env.PAGE_SEED || 1);
const JOURNEY = 'Your journey starts with one step';

// The text of the live page of each bundled model; null: it reads two texts, and has no live page.
const TEXTS = {
    tiny: REPEAT,
    life: LIFE,
    'life-causal': LIFE,
    'life-4-heads': LIFE,
    'life-grouped': LIFE,
    'life-cross': null,
    journey: JOURNEY,
    'journey-causal': JOURNEY,
    'journey-seven': `${JOURNEY} context`,
    nlp: '我爱自然语言处理',
    translate: 'the small black cat sees a white cow',
    'translate-zh': 'the cat sat on the mat',
    cloze: 'The [MASK] sat on the [MASK].',
    roles: 'The cat did not cross the street because it was tired',
    recall: 'the red cat and a blue bird and the red',
};

const KEYS = [
    ...'abcdefghijklmnopqrstuvwxyz0123456789[],./?-+',
    ...['Enter', ' ', 'Tab', 'Shift+Tab', 'Escape', 'Backspace', 'Delete', 'Home', 'End'],
    ...['PageUp', 'PageDown', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'],
];
const ODD = ['', ' ', 'xyzzy', '</script><b>', 'مرحبا שלום 12', '🍰 我爱', 'the '.repeat(300)];

// Entries of an address, some of them of another kind or out of range.
const ENTRIES = [
    ...['text', 'off', 't', 'pin', 'sentence', 'screen', 'show', 'head', 'cell', 'token', 'why'],
    ...['scale', 'lang', 'present', 'slide', 'theme', 'step', 'at', 'write', 'form'],
];
const VALUES = [
    ...['0', '1', '3', '99', '-1', '0.5', 'x', '0.0', '1.3', '9.9', '2,1', '99,99', '|1||'],
    ...['1.3|2||', 'Life', 'matrix', 'motion', 'write', 'rows', 'zh', 'en', '4:1', 'mask', 'scale'],
];

const WINDOWS = [
    { width: 1280, height: 720 },
    { width: 390, height: 844 },
    { width: 800, height: 600 },
];

// mulberry32
function randomOf(seed) {
    return () => {
        seed = (seed + 0x6d2b79f5) | 0;
        let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
}

// --- in the page ---------------------------------------------------------------------------------

// Functions in the page, which name no more of it than the buttons of its screens.
function helpers() {
    const SCREENS = '#screens button';
    const CONTROLS =
        'button, summary, select, input:not([type="text"]), [role="button"], a[href^="#"]';
    window.controls = () =>
        [...(document.querySelector('dialog[open]') || document).querySelectorAll(CONTROLS)].filter(
            (one) => one.checkVisibility() && !one.disabled && !one.closest('[inert]'),
        );
    // Use a control as a click or a change does; `share` chooses it and its value. Its name.
    window.useControl = (share) => {
        const all = window.controls();
        const one = all[Math.floor(share * all.length)];
        const change = (type) => one.dispatchEvent(new Event(type, { bubbles: true }));
        const digits = Math.floor(share * 1e6);
        if (one instanceof HTMLSelectElement) {
            one.selectedIndex = digits % one.options.length;
            change('change');
        } else if (one instanceof HTMLInputElement) {
            const [low, high] = [one.min, one.max].map(Number);
            one.value = low + ((digits % 100) / 99) * ((high || 9) - low);
            change('input');
            change('change');
        } else one?.click();
        return one && (one.id || one.textContent.trim().slice(0, 30) || one.className);
    };
    // Show a screen, without a dialog and a focus. The number of its controls.
    window.beginAt = (screen) => {
        document.querySelector('dialog[open]')?.close();
        document.activeElement.blur();
        const button = document.querySelectorAll(SCREENS)[screen];
        if (button?.getAttribute('aria-pressed') !== 'true') button?.click();
        return window.controls().length;
    };
    // Press keys and use controls (numbers: the share of all), each from the screen. What was done.
    window.tour = async (screen, steps) => {
        const done = [];
        window.doing = done;
        for (const step of steps) {
            window.beginAt(screen);
            done.push(`${step}`);
            const event = { key: step, bubbles: true, cancelable: true };
            if (typeof step === 'number') done.splice(-1, 1, `use ${window.useControl(step)}`);
            else document.activeElement.dispatchEvent(new KeyboardEvent('keydown', event));
            await new Promise((next) => setTimeout(next));
        }
        window.doing = [];
        return done;
    };
    window.typeText = (words) => {
        const field = document.getElementById('text');
        field.value = words;
        field.dispatchEvent(new Event('input', { bubbles: true }));
    };
    for (const name of ['error', 'unhandledrejection'])
        window.addEventListener(name, () => {
            const { doing = [] } = window;
            if (doing.length) console.log(`after ${doing.slice(-9).join(' | ')}`);
        });
}

// --- the user ------------------------------------------------------------------------------------

class User {
    constructor(page, text) {
        Object.assign(this, { page, text, random: randomOf(SEED), done: [] });
    }

    below(count) {
        return Math.floor(this.random() * count);
    }

    of(list) {
        return list[this.below(list.length)];
    }

    shuffled(list) {
        const ranks = list.map((one) => [this.random(), one]);
        return ranks.sort(([a], [b]) => a - b).map(([, one]) => one);
    }

    // Each key and each control on each screen: in the page, which is faster than one at a time.
    async tour() {
        const screens = await this.page.locator('#screens button').count();
        for (let screen = 0; screen < Math.max(1, screens); screen++) {
            const count = await this.page.evaluate((at) => window.beginAt(at), screen);
            const uses = Array.from({ length: count }, (_, at) => (at + 0.5) / count);
            const keys = KEYS.map((key) => key.replace('Shift+', ''));
            const asked = [screen, this.shuffled([...uses, ...keys])];
            this.done.push(...(await this.page.evaluate((all) => window.tour(...all), asked)));
        }
    }

    act() {
        const share = this.random();
        if (share < 0.35) return this.press(this.of(KEYS));
        if (share < 0.65) return this.use();
        if (share < 0.78) return this.type();
        if (share < 0.9) return this.point();
        if (share < 0.93) return this.change();
        if (share < 0.96) return this.follow();
        return share < 0.965 ? this.reload() : this.wait();
    }

    async press(key) {
        this.done.push(key);
        await this.page.keyboard.press(key);
    }

    async use() {
        const name = await this.page.evaluate((at) => window.useControl(at), this.random());
        this.done.push(`use ${name}`);
    }

    // Words of the text, up to three times as many; or what no model expects.
    someText() {
        const blank = this.text.includes(' ') ? ' ' : '';
        const words = this.text.split(blank);
        const some = Array.from({ length: this.below(3 * words.length) + 1 }, () => this.of(words));
        if (!this.below(4)) return this.of(ODD);
        return this.below(3) ? some.join(blank) : this.text;
    }

    async type() {
        if (!this.isLive) return;
        const text = this.someText();
        this.done.push(`type “${text.slice(0, 40)}”`);
        await this.page.evaluate((words) => window.typeText(words), text);
    }

    async point() {
        const { mouse } = this.page;
        const { width, height } = this.page.viewportSize();
        const place = () => [this.below(width), this.below(height)];
        const [how, at] = [this.of(['move', 'click', 'drag', 'wheel']), place()];
        this.done.push(`${how} at ${at}`);
        await mouse.move(...at);
        if (how === 'click') await mouse.click(...at);
        if (how === 'wheel') await mouse.wheel(0, this.below(600) - 300);
        if (how !== 'drag') return;
        await mouse.down();
        await mouse.move(...place(), { steps: 3 });
        await mouse.up();
    }

    // Another window, other wishes of its user, or paper.
    async change() {
        const { page } = this;
        const wishes = [
            ...[{ colorScheme: 'dark' }, { colorScheme: 'light' }],
            ...[{ reducedMotion: 'reduce' }, { reducedMotion: 'no-preference' }],
        ];
        const to = this.of([...WINDOWS, ...wishes, 'paper']);
        this.done.push(JSON.stringify(to));
        if (to.width) return page.setViewportSize(to);
        if (to !== 'paper') return page.emulateMedia(to);
        return page.evaluate(() => {
            for (const name of ['beforeprint', 'afterprint']) window.dispatchEvent(new Event(name));
        });
    }

    async follow() {
        const entries = Array.from({ length: this.below(4) }, () =>
            [this.of(ENTRIES), this.of(VALUES)]);
        const hash = `${new URLSearchParams(entries)}`;
        this.done.push(`#${hash}`);
        await this.page.evaluate((words) => (location.hash = words), hash);
    }

    async reload() {
        this.done.push('reload');
        await this.page.reload();
        await this.ready();
    }

    async wait() {
        const time = this.below(400);
        this.done.push(`wait ${time} ms`);
        await this.page.waitForTimeout(time);
    }

    // The engine of a live page is open.
    async ready() {
        if (this.isLive) await this.page.locator('#text:enabled').waitFor({ state: 'attached' });
    }

    // Whatever happened, a live page runs its text.
    async runsAgain() {
        await this.page.evaluate((words) => {
            document.querySelector('dialog[open]')?.close();
            window.typeText(`${words} ${words}`);
            window.typeText(words);
        }, this.text);
        this.done.push('type the first text');
        const note = `#live-note[data-text=${JSON.stringify(this.text)}]`;
        await this.page.locator(`body:not(.stale) ${note}`).waitFor({ state: 'attached' });
        same('', await this.page.locator('#text-error').textContent());
        yes(/\d/.test(await this.page.locator('#live-note').textContent()), 'not updated');
    }
}

async function wander(name, path, text, isLive) {
    const { page, faults, close } = await open(path, { viewport: WINDOWS[0] });
    const began = Date.now();
    const user = Object.assign(new User(page, text), { isLive });
    const check = () => {
        const last = user.done.slice(-9).join(' | ');
        const where = `seed ${SEED}, action ${user.done.length}, after ${last}`;
        if (faults.length) throw new Error([...faults.slice(0, 4), where].join('\n    '));
    };
    await page.addInitScript(helpers);
    await page.reload();
    await user.ready();
    await user.tour();
    check();
    for (let i = 0; i < ACTIONS; i++) {
        await user.act();
        check();
    }
    await quiet(page); // what follows a pause
    if (isLive) await user.runsAgain();
    check();
    await close();
    const seconds = ((Date.now() - began) / 1000).toFixed(1);
    console.log(`        ${name}, seed ${SEED}: ${user.done.length} actions in ${seconds} s`);
}

// --- the pages -----------------------------------------------------------------------------------

const NO_ENGINE = 4; // the status of `page --live`

await test('the random user knows every bundled model', () => {
    const words = execFileSync(attn, ['help', '--completion', 'bash']).toString();
    const names = [...words.matchAll(/^value\tmodels\t(\S+)/gm)].map(([, name]) => name);
    same(names, Object.keys(TEXTS));
});

for (const [model, text] of Object.entries(TEXTS).filter(([, words]) => words))
    await test(`a random user of the live page of ${model} sees no error`, async () => {
        const path = join(scratch, `user-${model}.html`);
        const words = [model.startsWith('translate') ? '--source' : '-s', text];
        const wrote = spawnSync(attn, ['page', '-q', '--live', '-m', model, ...words, '-o', path]);
        if (wrote.status === NO_ENGINE) return void (counts.skipped += 1);
        same('', wrote.stderr.toString());
        return wander(model, path, text, true);
    });

const step = join(scratch, 'user-lesson.html');
const PAGES = {
    'of two texts': () => writePage('-s', REPEAT, '-s', REPEAT.replace('door', 'tree')),
    'with all tensors': () => writePage('-s', LIFE, '--show', 'all', '--explain', 'all'),
    'of two models': () => writePage('-m', 'life', '-m', 'life-causal', '-s', LIFE),
    'of a source': () => writePage('-m', 'life-cross', '-s', 'Life is', '--source', 'the cat sat'),
    'of a lesson': () => {
        execFileSync(attn, ['lesson', '-o', step]);
        return step;
    },
};

for (const [name, write] of Object.entries(PAGES))
    await test(`a random user of a page ${name} sees no error`, () =>
        wander(name, write(), LIFE, false));
