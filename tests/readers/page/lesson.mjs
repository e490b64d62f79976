// A lesson as a page has the texts of the command and the numbers of its models; scenes of Motion
// show how they come about.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
    LIFE,
    attn,
    boxOf,
    json,
    readout,
    same,
    scratch,
    test,
    withPage,
    yes,
} from './harness.mjs';

const said = (...args) => execFileSync(attn, ['lesson', ...args, '--width', '1000']).toString();
const path = join(scratch, 'lesson.html');
execFileSync(attn, ['lesson', '-o', path]);
// The commands of the steps with a number; `lesson scale` and the walk follow.
const all = [...said('--list').matchAll(/\n {4}(attn-cli .*)/g)].map((found) => found[1]);
const lines = all.filter((line) => line !== 'attn-cli lesson scale');
const [SCALE, WALK] = [lines.length, lines.length + 1];

// The numbers of a text that have decimals, but for constants such as e ≈ 2.718.
const decimals = (text) => text.match(/(?<!≈ )(?<![\d.])-?\d+\.\d+/g) || [];

// The tensors of a step, from the JSON output of its command line.
function tensorsOf(line) {
    const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map((found) => found[1] ?? found[2]);
    for (const name of ['--query', '--key', '--head'].filter((one) => words.includes(one)))
        words.splice(words.indexOf(name), 2); // the page has all tokens
    if (words[1] === 'explain') words.push('--show', 'all');
    return json(...words.slice(2)).tensors;
}

// The numbers of a tensor and head by a name such as "weights 0.1".
function numbersOf(tensors, name) {
    const [tensor, place] = name.replace('scores after the mask', 'masked')
        .replace(/ L(\d+)/, ' $1').replace('KV', '.kv').replace('H', '.').split(' ');
    const [layer, head] = place ? place.split('.') : [];
    const found = tensors[layer ? `h.${layer}.${tensor}` : tensor] || tensors[`h.0.${tensor}`];
    const isOfHeads = head || Array.isArray(found[0][0]); // unnamed: a model with one head
    return isOfHeads ? found[found.length > 1 ? Number(head) : 0] : found;
}

// A page whose tables are open, in each step.
const withTables = (file, body, options) =>
    withPage(file, async (page) => {
        for (const one of ['.tables', '.tries']) await page.click(`${one} > summary`);
        await body(page);
    }, options);

await test('every step has the text of the command `lesson`', () =>
    withTables(path, async (page) => {
        same(all.length, lines.length + 1, 'lesson scale is not listed');
        same(WALK + 1, await page.locator('#sentence option').count());
        for (let step = 1; step <= all.length; step++) {
            await page.selectOption('#sentence', String(step - 1));
            const text = said(step > lines.length ? 'scale' : String(step));
            const parts = await page.$$eval('.told > p', (all) => all.map((p) => p.innerText));
            same(all[step - 1], await page.locator('.told .command code').innerText());
            for (const part of parts.filter((one) => !one.includes('attn-cli ')))
                yes(text.replace(/\s+/g, ' ').includes(part.replace(/\s+/g, ' ')), part);
        }
    }));

await test('marked cells have the numbers of the models', () =>
    withTables(path, async (page) => {
        for (let step = 0; step < lines.length; step++) {
            await page.selectOption('#sentence', String(step));
            const tensors = tensorsOf(lines[step]);
            const cells = await page.$$eval('.marked button', (all) =>
                all.map((one) => [one.textContent, one.title]),
            );
            yes(cells.length > 0, `step ${step + 1} marks nothing`);
            for (const [cell, title] of cells) {
                const [value] = title.split(':'); // exact; the button has four decimals
                const four = Number(value).toFixed(4).replace('-', '−');
                same(four, cell.split(' ').at(-1), cell);
                const [name] = cell.split(' · ');
                const row = numbersOf(tensors, name).find((numbers) =>
                    numbers.some((number) => String(number) === value),
                );
                yes(row, `step ${step + 1}: ${cell} is none of ${name}`);
            }
        }
    }));

await test('the state of a step has the words of its model on its axes', () =>
    withTables(path, async (page) => {
        const words = JSON.parse(readFileSync(join(process.env.ROOT, 'models/recall/vocab.json')));
        await page.selectOption('#sentence', '15');
        const sheet = page.locator('[data-figure="mix_state:0.0"] .over');
        await sheet.evaluate((one) => one.scrollIntoView({ block: 'start' })); // above the question
        const [left, top, width, height] = (
            await sheet.evaluate((one) => one.parentNode.dataset.cells)
        ).split(',');
        const { x, y } = await sheet.boundingBox();
        for (const [row, column] of [['cat', 'green'], ['dog', 'blue'], ['old', 'black']]) {
            const at = (word, first, size) => Number(first) + (words[word] + 0.5) * Number(size);
            await page.mouse.move(x + at(column, left, width), y + at(row, top, height));
            const found = await page.locator('[data-figure="mix_state:0.0"] .cell-words').innerText();
            yes(found.startsWith(`“${row}” → “${column}”: `), found);
        }
    }));

await test('a marked cell opens in its matrix', () =>
    withTables(path, async (page) => {
        await page.selectOption('#sentence', '5'); // two heads
        const words = await page.locator('.lesson .over').first().getAttribute('aria-label');
        yes(words.endsWith('Arrow keys move.'), words); // Enter explains in the workbench
        same(0, await page.locator('.lesson :not(canvas)[aria-describedby]').count());
        await page.locator('.marked button').nth(1).click();
        const value = tensorsOf(lines[5])['h.1.weights'][1][4][2];
        yes((await readout(page)).startsWith(value.toFixed(2)), await readout(page));
        yes((await readout(page)).includes('query 4, key 2'), await readout(page));
        same(String(value), await page.getAttribute('#value', 'title'));
        await page.keyboard.press('l');
        yes(await page.isVisible('.lesson'), 'l does not return to the lesson');
    }));

await test('every step has a question, and its answer uses numbers of the step', () =>
    withTables(path, async (page) => {
        for (let step = 0; step <= WALK; step++) {
            await page.selectOption('#sentence', String(step));
            const question = page.locator('.question');
            yes((await question.locator('summary').innerText()).endsWith('?'), `step ${step + 1}`);
            yes(!(await question.locator('p').isVisible()), 'the answer is not hidden');
            await question.locator('summary').focus();
            await page.keyboard.press('Enter');
            yes(await question.locator('p').isVisible(), 'Enter opens no answer');
            if (step === WALK) continue;
            const output = said(step === SCALE ? 'scale' : String(step + 1));
            for (const number of decimals(await question.innerText()))
                yes(output.includes(number), `step ${step + 1}: there is no ${number}`);
        }
    }));

await test('buttons and keys lead to the next and the previous step', () =>
    withTables(path, async (page) => {
        await page.click('#lesson-after');
        await page.keyboard.press(']');
        yes((await page.locator('.lesson h2').innerText()).startsWith('3'), 'it is not the third');
        await page.keyboard.press('[');
        await page.click('#lesson-before');
        same(0, await page.locator('#lesson-before').count());
    }));

// Open Motion in a step that has it; it stays open from step to step.
async function watch(page) {
    const fold = page.locator('.moves > summary');
    if (!(await fold.count())) return;
    if (!(await page.locator('.moves[open]').count())) await fold.click();
    await page.locator('.moves #play').waitFor();
}

// Step through the journey of the last step; return the titles of its scenes.
async function walk(page) {
    const found = [];
    await page.locator('.lesson #play').focus();
    await page.keyboard.press('Home');
    for (let last = null; ; ) {
        const title = await page.innerText('.lesson #scene-title');
        if (title === last) return found;
        found.push((last = title));
        await page.keyboard.press('ArrowRight');
    }
}

const calm = { reducedMotion: 'reduce' };

await test('the last step is the journey through all layers, and a step opens its scenes', () =>
    withTables(
        path,
        async (page) => {
            await page.selectOption('#sentence', String(WALK));
            const titles = await walk(page);
            same(23, titles.length);
            same('Prediction', titles.at(-1).split(' · ').at(-1));
            const count = {};
            for (let step = 0; step < SCALE; step++) {
                await page.selectOption('#sentence', String(step));
                const scenes = page.locator('.lesson #scenes button');
                await watch(page);
                if (await scenes.count()) count[step + 1] = await scenes.allTextContents();
            }
            same(['15', '16'], lines.map((_, at) => `${at + 1}`).filter((step) => !count[step]));
            same(['q · k', '÷ √2', 'No mask', 'Softmax', 'Values', 'Sum'], count[5]);
            same(['Softmax', 'Mask'], count[11]);
            await page.selectOption('#sentence', '1'); // softmax, sum: the row of “journey”
            await watch(page);
            await page.click('.lesson #motion-numbers summary');
            await page.locator('.lesson #motion-numbers td').first().waitFor();
            const rows = await page.$$eval('.lesson #motion-numbers tbody tr', (all) =>
                all.map((row) => [...row.children].map((cell) => cell.textContent)),
            );
            const { weights } = Object.fromEntries(
                Object.entries(tensorsOf(lines[1])).map(([name, value]) => [name.split('.').at(-1), value]),
            );
            same(weights[0][1].map(String), rows.slice(0, 6).map((row) => row[3]));
        },
        calm,
    ));

await test('the journey of a lesson accepts any model and text', async () => {
    const other = join(scratch, 'other.html');
    execFileSync(attn, ['lesson', '-m', 'life-4-heads', '-s', 'Life is short', '-o', other]);
    await withTables(
        other,
        async (page) => {
            await page.selectOption('#sentence', String(WALK));
            same('“Life is short”', await page.locator('.claims > .sentence').innerText());
            yes((await walk(page)).some((title) => title.endsWith('Sum')), 'no attention');
        },
        calm,
    );
});

// Texts of a drawing that lie on each other.
function overlapping(drawing) {
    const boxes = [...drawing.querySelectorAll('text')].map((one) =>
        [one.textContent, one.getBoundingClientRect()]);
    const meet = ([, a], [, b]) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5; // empty above letters
    return boxes.flatMap((one, at) =>
        boxes.slice(at + 1).filter((other) => meet(one, other)).map((other) => [one[0], other[0]]));
}

await test('the shadow of a key on the query, times the length of the query, is its score', () =>
    withTables(path, async (page) => {
        for (const [step, row] of [[0, 1], [4, 1]]) {
            await page.selectOption('#sentence', String(step));
            const tensors = Object.entries(tensorsOf(lines[step]));
            const of = (name) => tensors.find(([one]) => one.split('.').at(-1) === name)?.[1];
            const one = (tensor) => (Array.isArray(tensor[0][0]) ? tensor[0] : tensor);
            const scores = one(of('scores'))[row];
            const query = one(of('q') || of('embedding'))[row];
            const length = Math.hypot(...query);
            const drawn = await page.$eval('.picture .drawing', (svg) => {
                const numbers = (path) => path.getAttribute('d').match(/-?[\d.]+/g).map(Number);
                const keys = [...svg.querySelectorAll('.key')].map(numbers);
                return { keys, query: numbers(svg.querySelector('.query')) };
            });
            const unit = (drawn.query[2] - drawn.query[0]) / length; // pixels
            same(scores.length, drawn.keys.length);
            drawn.keys.forEach(([from, , to], at) => {
                const score = ((to - from) / unit) * length;
                yes(Math.abs(score - scores[at]) < 1e-4, `key ${at}: ${score}, ${scores[at]}`);
            });
            const words = await page.textContent('.picture .drawing');
            for (const score of scores)
                yes(words.includes(score.toFixed(4).replace('-', '−')), `${score} is not written`);
        }
    }));

await test('numbers of the first pictures are those of the models', () =>
    withTables(path, async (page) => {
        const cells = async (step, selector = '.picture td') => {
            await page.selectOption('#sentence', String(step));
            return (await page.locator(selector).allTextContents()).map((text) =>
                text.replace('−', '-'));
        };
        const four = (values) => values.map((value) => value.toFixed(4));
        const find = (line, name) => numbersOf(tensorsOf(line), name);
        const weights = find(lines[1], 'weights')[1];
        const rows = await cells(1, '.picture .bars-table tbody tr');
        rows.forEach((row, at) => yes(row.endsWith(weights[at].toFixed(4)), row));
        const adds = await cells(7);
        const [, , attention] = find(lines[7], 'attn_out L0')[2];
        same(attention.toFixed(4), adds.at(-1), 'the shares of heads and their sum');
        const masked = await cells(9);
        const causal = find(lines[9], 'weights');
        same(four(causal[1].slice(0, 2)), masked.filter((one) => one).slice(6, 8));
        await page.click('.picture .switch');
        const life = json('-m', 'life', LIFE.replace(',', ''), '--show', 'weights').tensors;
        const without = await page.locator('.picture td').allTextContents();
        same(four(numbersOf(life, 'weights').flat()), without.filter((one) => one), 'without mask');
        const sums = await cells(10, '.picture .total');
        same(['0.1772', '1.0000'], [sums[0], sums[6]]);
    }));

await test('names of pictures do not lie on each other, on a screen and on a phone', async () => {
    for (const [width, height] of [[1440, 900], [1280, 720], [390, 844]])
        for (const lang of ['en', 'zh'])
            await withTables(
                path,
                async (page) => {
                    for (let step = 0; step < WALK; step++) {
                        await page.evaluate((hash) => (location.hash = hash),
                            `sentence=${step}&lang=${lang}`);
                        const found = await page.locator('.picture .drawing').evaluateAll(
                            (all, code) => all.flatMap(Function(`return ${code}`)()),
                            overlapping.toString(),
                        );
                        same([], found, `step ${step + 1} at ${width}, ${lang}`);
                    }
                },
                { viewport: { width, height } },
            );
});

await test('in Chinese a step has its Chinese example', () =>
    withTables(path, async (page) => {
        const read = async (lang) => {
            await page.evaluate((hash) => (location.hash = hash), `sentence=5&lang=${lang}`);
            return page.innerText('#lesson');
        };
        const line = said('6', '--lang', 'zh').match(/attn-cli run .*(?= --lang zh)/)[0];
        const weights = tensorsOf(line)['h.1.weights'];
        const chinese = await read('zh');
        yes(chinese.includes(line), 'another command');
        for (const [head, row, column] of [[0, 7, 1], [1, 3, 1], [2, 3, 4]])
            yes(chinese.includes(weights[head][row][column].toFixed(4)), `head ${head}`);
        yes(!chinese.includes('→ “chicken”'), 'the English example');
        yes((await read('en')).includes('chicken'), 'English has no example');
        same(WALK + 1, await page.locator('#dots button').count());
    }));

// The texts and attributes that a reader of the page may read, without names in quotes.
const wordsOf = (page) =>
    page.evaluate(() => {
        const shown = [...document.querySelectorAll('header, #lesson')];
        const all = shown.flatMap((one) => [...one.querySelectorAll('*')]);
        const named = ['aria-label', 'title', 'placeholder'];
        const isTerm = (one) =>
            one.matches('code, option, #plain, .marked *, svg *, .side h3') ||
            one.closest('.formula, .worked, bdi, sup');
        return all
            .filter((one) => !one.closest('code, svg, #language') && !isTerm(one))
            .flatMap((one) => [
                ...[...one.childNodes].filter((part) => part.nodeType === 3).map((part) => part.data),
                ...named.map((name) => one.getAttribute(name) || ''),
            ])
            .map((text) => text.replace(/“[^”]*”/g, '').trim())
            .filter((text) => /[a-z]{2}/i.test(text));
    });

// The numbers of a step that its page draws or writes, besides those of its text.
const numbersShown = (page) =>
    page.evaluate(() => [
        ...window.drawn,
        ...[...document.querySelectorAll('.arithmetic td, .marked b')].map((one) => one.textContent),
        ...[...document.querySelectorAll('.worked')].flatMap((one) => one.textContent.split(' ')),
    ]);

await test('each step shows every number of its text, with its decimals', () =>
    withTables(path, async (page) => {
        await page.evaluate(() => {
            window.drawn = [];
            const own = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function fillText(text, ...rest) {
                window.drawn.push(text.replace('−', '-'));
                own.call(this, text, ...rest);
            };
        });
        for (let step = SCALE; step >= 0; step--) {
            await page.evaluate(() => (window.drawn = []));
            await page.selectOption('#sentence', String(step));
            const shown = await numbersShown(page);
            const parts = page.locator('.told > p:not(.command, .also), .question');
            const told = (await parts.allTextContents()).join(' ');
            for (const number of decimals(told).map((one) => one.replace('-', '')))
                yes(shown.includes(number) || shown.includes(`-${number}`), `step ${step + 1}: ${number}`);
            for (const [name] of told.matchAll(/W_[qkv]/g)) {
                const groups = await page.locator('.arithmetic .group').allTextContents();
                yes(groups.includes(name.replace('_', '')), `step ${step + 1}: no table ${name}`);
            }
        }
    }));

await test('tables are beside their text where the window is wide, and fit it', async () => {
    for (const [width, height] of [[1440, 900], [1280, 720], [1024, 768], [390, 844]])
        await withTables(
            path,
            async (page) => {
                if (width < 700) await page.click('#edit');
                for (let step = 0; step < lines.length; step++) {
                    await page.selectOption('#sentence', String(step));
                    const [text, picture] = [
                        await boxOf(page.locator('.told > p').first()),
                        await boxOf(page.locator('.picture')),
                    ];
                    const beside = text.x >= picture.x + picture.width;
                    same(width > 959, beside, `step ${step + 1} at ${width}`);
                    same(width <= 959, text.y > picture.y + picture.height, `step ${step + 1}`);
                    yes(text.x + text.width > width - 40, `step ${step + 1}: unused space`);
                    const question = await boxOf(page.locator('.question'));
                    yes(question.y + question.height <= height, `step ${step + 1}: no question`);
                    const excess = await page.$$eval('.arithmetic .scroll', (all) =>
                        all.map((one) => one.scrollWidth - one.clientWidth),
                    );
                    yes(width < 1000 || Math.max(0, ...excess) < 2, `step ${step + 1}: ${excess}`);
                }
            },
            { viewport: { width, height } },
        );
});

// Texts of Motion's picture that touch others or its edges while its scenes pass.
function touching() {
    const [canvas, scrub] = ['stage-canvas', 'scrub'].map((id) => document.getElementById(id));
    const { fillText: own } = CanvasRenderingContext2D.prototype;
    let texts = [];
    canvas.getContext('2d').fillText = function fillText(words, x, y) {
        own.call(this, words, x, y);
        const box = this.measureText(words);
        texts.push({ words, left: x - box.actualBoundingBoxLeft,
            right: x + box.actualBoundingBoxRight, top: y - box.actualBoundingBoxAscent,
            bottom: y + box.actualBoundingBoxDescent, faint: this.globalAlpha < 0.3 });
    };
    const found = new Set();
    for (let at = 0; at <= Number(scrub.max); at += 0.2) {
        texts = [];
        scrub.value = at;
        scrub.dispatchEvent(new Event('input'));
        texts = texts.filter((one) => !one.faint);
        for (const one of texts)
            if (one.left < -1 || one.right > canvas.clientWidth + 1) found.add(one.words);
        for (const [i, one] of texts.entries())
            for (const other of texts.slice(i + 1))
                if (one.left < other.right + 1 && other.left < one.right + 1 &&
                    one.top < other.bottom + 1 && other.top < one.bottom + 1)
                    found.add(`${one.words} | ${other.words}`);
    }
    delete canvas.getContext('2d').fillText;
    return [...found];
}

await test('on a phone no names or numbers of Motion touch', async () => {
    const roles = join(scratch, 'roles.html');
    const words = ['-m', 'roles', '-s', '机器人没有过马路，因为它太累了。', '--lang', 'zh'];
    execFileSync(attn, ['lesson', ...words, '-o', roles]);
    const phone = { viewport: { width: 390, height: 844 }, ...calm };
    for (const [file, steps] of [[path, [1, 4, 13, WALK]], [roles, [13, WALK]]])
        await withTables(
            file,
            async (page) => {
                await page.click('#edit');
                for (const step of steps) {
                    await page.selectOption('#sentence', String(step));
                    await watch(page);
                    same([], await page.evaluate(touching), `step ${step + 1}`);
                    const over = await page.$$eval('#scenes', (all) =>
                        all[0].scrollWidth - all[0].clientWidth);
                    yes(step === WALK || over < 2, `step ${step + 1}: a scene is cut`);
                }
            },
            phone,
        );
});

await test('the output projection has what each head adds, and W_O', () =>
    withTables(path, async (page) => {
        await page.selectOption('#sentence', String(7));
        const part = page.locator('.arithmetic section', { has: page.getByText('Output', { exact: true }) });
        for (const row of ['head 1', 'head 3', 'b_O', 'attn_out'])
            same(1, await part.locator('th', { hasText: row }).count(), row);
        const matrix = part.locator('table', { has: page.locator('.group', { hasText: 'WO, head 2' }) });
        const rows = ['0', '1', '2', '3', '…', '20', '21', '22', '23'];
        same(rows, await matrix.locator('tbody th').allTextContents());
        const last = ['0.1479', '-0.0300', '0.0605', '-0.0349', '…', '-0.0499', '0.0240'];
        same(last, await matrix.locator('tbody tr').last().locator('td').allTextContents());
        const share = ['', '-0.2000', '0.1884', '-0.1029', '…', '-0.0721', '-0.3103'];
        same(share, await matrix.locator('tfoot td').allTextContents(), 'what head 2 adds');
        yes((await matrix.locator('.group').last().innerText()).endsWith(' (5 of 96)'), 'columns');
    }));

await test('no step has more than nine sections', () =>
    withTables(path, async (page) => {
        for (let step = 0; step < WALK; step++) {
            await page.selectOption('#sentence', String(step));
            const count = await page.locator('.shows h3').count();
            yes(count > 0 && count <= 9, `step ${step + 1}: ${count}`);
        }
    }));

// Letters of the lesson below 20 pixels, of drawings below 18; what is outside the window or cut.
const faultsOfScreen = (page) =>
    page.evaluate(() => {
        const own = (one) => [...one.childNodes].some((part) => part.data?.trim());
        const isLarge = (one) =>
            one.closest('sub, sup, svg') || parseFloat(getComputedStyle(one).fontSize) >= 20;
        const visible = (one) => one.getClientRects().length > 0;
        const all = [...document.querySelectorAll('#lesson *')].filter(visible);
        const outside = ({ right, bottom }) => right > innerWidth || bottom > innerHeight;
        const cut = (one) => one.scrollHeight - one.clientHeight > 1;
        const texts = (list) => list.map((one) => one.outerHTML.slice(0, 60));
        const letters = all.filter((one) => one.matches('.drawing text')).map((one) => {
            const svg = one.ownerSVGElement;
            const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            return scale * parseFloat(getComputedStyle(one).fontSize);
        });
        return [
            ...texts(all.filter((one) => own(one) && !isLarge(one))),
            ...texts(all.filter((one) => outside(one.getBoundingClientRect()))),
            ...texts(all.filter((one) => one.matches('.told, .shows') && cut(one))),
            ...texts(all.filter((one) => one.scrollWidth > one.clientWidth && one.matches('.scroll'))),
            ...window.fonts.filter((size) => size < 18),
            ...letters.filter((size) => size < 17.9),
        ];
    });

// The numbers that a slide says and does not show; a constant such as e ≈ 2.718 is in no figure.
const unshown = (page) =>
    page.evaluate(() => {
        const visible = (one) => one.getClientRects().length > 0;
        const text = [...document.querySelectorAll('.told > *')].filter(visible);
        const said = text.map((one) => one.innerText).join(' ').match(/(?<!≈ )\d+\.\d+/g) || [];
        const drawn = window.drawn.filter(([canvas]) => visible(canvas)).map(([, words]) => words);
        const shown = [document.querySelector('.shows').innerText, ...drawn].join(' ');
        return said.filter((one) => !shown.includes(one));
    });

await test('a projected lesson has one text and figures that fit a screen, in large letters', async () => {
    const chinese = join(scratch, 'projected.html');
    execFileSync(attn, ['lesson', '--lang', 'zh', '-o', chinese]);
    for (const [file, width, height] of [
        [path, 1280, 720],
        [path, 1920, 1080],
        [chinese, 1280, 720],
    ])
        await withTables(
            file,
            async (page) => {
                await page.evaluate(() => {
                    Object.assign(window, { fonts: [], drawn: [] });
                    const own = CanvasRenderingContext2D.prototype.fillText;
                    CanvasRenderingContext2D.prototype.fillText = function fillText(...rest) {
                        window.fonts.push(parseFloat(/([\d.]+)px/.exec(this.font)[1]));
                        window.drawn.push([this.canvas, rest[0]]);
                        own.apply(this, rest);
                    };
                });
                await page.keyboard.press('p');
                for (let step = 0; step <= WALK; step++) {
                    const title = await page.locator('#sentence option:checked').innerText();
                    const place = page.locator('.steps .quiet');
                    const count = Number((await place.innerText()).split(' / ')[1]);
                    const shown = new Set();
                    for (let screen = 1; screen <= count; screen++) {
                        same(`${screen} / ${count}`, await place.innerText(), title);
                        same([], await faultsOfScreen(page), `${title}, screen ${screen}`);
                        const texts = page.locator('.told > :is(.claim, .look, .question):visible');
                        same(1, await texts.count(), `texts of ${title}, screen ${screen}`);
                        same(screen === count, await page.locator('.question p').isVisible());
                        same([], await unshown(page), `${title}, screen ${screen}`);
                        for (const one of await page.locator('.shows h3:visible').allTextContents())
                            shown.add(one);
                        await page.evaluate(() => Object.assign(window, { fonts: [], drawn: [] }));
                        await page.keyboard.press(screen % 2 ? 'ArrowRight' : 'PageDown');
                    }
                    const next = await page.locator('#sentence').inputValue();
                    same(String(Math.min(step + 1, WALK)), next, `${title}: the next step`);
                    yes(shown.size > 0 || step === WALK, `${title} has no figures`);
                }
                await page.keyboard.press('[');
                yes(await page.locator('.claim').isVisible(), 'not the first screen');
                await page.keyboard.press('ArrowLeft');
                yes(await page.locator('.question p').isVisible(), 'not the last screen');
                await page.keyboard.press('Escape');
                same(0, await page.locator('body.projects').count());
            },
            { viewport: { width, height } },
        );
});

await test('a projected lesson that is loaded again shows the slide that it showed', () =>
    withTables(path, async (page) => {
        await page.keyboard.press('p');
        await page.selectOption('#sentence', '1');
        for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowRight');
        const shown = () => page.innerText('.told');
        const before = await shown();
        yes(before.includes('4 / 7'), before);
        await page.reload();
        same(before, await shown());
        await page.keyboard.press(']');
        yes((await shown()).includes('1 / '), 'another step opens at its first slide');
    }));

await test('on slides the arrow keys turn the slide, whatever was clicked', () =>
    withTables(path, async (page) => {
        const place = async () =>
            `${await page.inputValue('#sentence')}: ${await page.innerText('.steps .quiet')}`;
        await page.keyboard.press('p');
        for (const one of ['#play', '#stage-canvas', '#scrub', '#scenes button', '#sentence']) {
            await page.selectOption('#sentence', '2');
            await page.selectOption('#sentence', '1');
            for (let slide = 1; slide < 4; slide++) await page.keyboard.press('ArrowRight');
            const target = page.locator(one).first(); // Motion is on the fourth slide
            await (one === '#sentence' ? target.focus() : target.click());
            await page.keyboard.press('ArrowRight');
            same('1: 5 / 7', await place(), one);
            await page.keyboard.press('ArrowLeft');
            same('1: 4 / 7', await place(), one);
        }
        await page.keyboard.press('ArrowRight'); // the context
        await page.locator('.shows .over:visible').first().click();
        await page.keyboard.press('ArrowRight');
        same('1: 6 / 7', await place(), 'a matrix');
    }));

await test('the buttons of the next and the previous step are in a low window', () =>
    withTables(
        path,
        async (page) => {
            for (let step = 0; step < WALK; step++) {
                await page.selectOption('#sentence', String(step));
                const box = await boxOf(page.locator('.steps'));
                yes(box.y + box.height <= 720, `step ${step + 1}: ${box.y + box.height}`);
            }
        },
        { viewport: { width: 1280, height: 720 } },
    ));

await test('on paper the lesson has all steps, without buttons that lead elsewhere', () =>
    withTables(path, async (page) => {
        await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
        await page.emulateMedia({ media: 'print' });
        same(WALK + 1, await page.locator('.lesson').count());
        same(WALK + 1, await page.locator('.question[open]').count());
        for (const one of ['.steps', '.command button', '#sentence', '#dots', '.moves'])
            same(0, await page.locator(one).locator('visible=true').count(), one);
        await page.evaluate(() => dispatchEvent(new Event('afterprint')));
        same(1, await page.locator('.lesson').count());
    }));

await test('formulas and tables have the same symbols in Chinese, but names of columns', async () => {
    const symbolsOf = async (...args) => {
        const file = join(scratch, 'symbols.html');
        execFileSync(attn, ['lesson', '5', ...args, '-o', file]);
        let texts;
        await withTables(file, async (page) => {
            const symbols = page.locator('.arithmetic :is(.formula, .worked, th:has(sub))');
            texts = await symbols.allTextContents();
        });
        return texts;
    };
    const names = { 分数: 'score', 缩放后: 'scaled', 掩码后: 'masked', 权重: 'weight',
        上下文向量: 'context', 上下文向量的第一个数: 'first number of the context' };
    const found = await symbolsOf('--lang', 'zh');
    for (const name of Object.keys(names))
        yes(found.some((text) => text.includes(name)), name);
    const inEnglish = (text) => text.replace(/[\u4e00-\u9fff]+/g, (name) => names[name]);
    same(await symbolsOf(), found.map(inEnglish));
});

await test('a lesson in Chinese is in Chinese', async () => {
    const chinese = join(scratch, 'chinese.html');
    execFileSync(attn, ['lesson', '--lang', 'zh', '-o', chinese]);
    await withTables(chinese, async (page) => {
        same('zh', await page.getAttribute('html', 'lang'));
        for (let step = 0; step <= WALK; step++) {
            await page.selectOption('#sentence', String(step));
            const isTerm = (text) => /^([a-z_0-9.]+( L\d+((H|KV)\d+)?)?|L\d+(H|KV)\d+|Esc|GPT：?|\+ MLP|e\^\(… − max\))$/.test(text);
            const isForeign = (text) => !/[\u4e00-\u9fff]/.test(text) && !isTerm(text);
            same([], (await wordsOf(page)).filter(isForeign), `step ${step + 1}`);
        }
    });
});

await test('every text of body.html has a Chinese name', async () => {
    const source = readFileSync(join(process.env.ROOT, 'lib/draw/page/chinese.js'), 'utf8');
    const table = source.slice(source.indexOf('{'), source.indexOf('};') + 1);
    const names = Object.keys(Function(`return ${table}`)());
    const body = readFileSync(join(process.env.ROOT, 'lib/draw/page/body.html'), 'utf8');
    await withTables(path, async (page) => {
        const texts = await page.evaluate((html) => {
            const parsed = new DOMParser().parseFromString(html, 'text/html');
            const walker = parsed.createTreeWalker(parsed.body, NodeFilter.SHOW_TEXT);
            const texts = [];
            while (walker.nextNode()) texts.push(walker.currentNode.data);
            for (const name of ['aria-label', 'title'])
                for (const one of parsed.querySelectorAll(`[${name}]`))
                    texts.push(one.getAttribute(name));
            return texts;
        }, body.replace(/<noscript>.*<\/noscript>/, ''));
        const wanted = texts.map((text) => text.replace(/\s+/g, ' ').trim());
        const isText = (text) => /[a-z]{2}/i.test(text) && !['PNG', 'Esc'].includes(text);
        const isNamed = (text) => names.includes(text);
        same([], [...new Set(wanted)].filter((text) => isText(text) && !isNamed(text)));
    });
});
