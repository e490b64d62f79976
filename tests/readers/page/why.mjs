// The panel "Why this number?" has the numbers of `explain`.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import {
    LIFE,
    attn,
    attnJson,
    drawn,
    go,
    json,
    pointsWithout,
    readout,
    same,
    samePoints,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

// The numbers of the column `title`, from the first table of the panel that has it.
const column = (page, title) =>
    page.$$eval(
        '#why table',
        (tables, wanted) => {
            for (const table of tables) {
                const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
                const at = titles.indexOf(wanted);
                if (at > 0)
                    return [...table.tBodies[0].rows].map((row) => row.cells[at].textContent);
            }
            return null;
        },
        title,
    );
const number = (page, name) => page.locator(`#why [data-name="${name}"]`).innerText();
const texts = (values) => values.map((value) => (value === null ? '−∞' : String(value)));

// Explain a cell of a head, with all tables open.
async function keep(page, row, key, head = '0.1') {
    await go(page, `head=${head}&cell=${row},${key}&why=1`);
    for (const summary of await page.locator('#why summary').all()) await summary.click();
    await drawn(page);
}

const columnsOf = (found, name) => found.steps.find((step) => step.name === name).columns;

// Check all numbers of a query of head 1 of layer 0 and of one key.
async function checkCell(page, options, row, key, what = '') {
    const found = attnJson('explain', '-q', ...options, '--head', '1', '--token', String(row));
    const run = json(...options, '--show', 'q').tensors['h.0.q'][1][row];
    const { k, score } = columnsOf(found, 'scores');
    same(texts(run), await column(page, 'q'), 'q');
    same(texts(k[key]), await column(page, 'k'), 'k');
    const shown = (await column(page, 'q · k')).map((text) => Math.fround(Number(text)));
    same(
        k[key].map((value, i) => Math.fround(Math.fround(value) * Math.fround(run[i]))),
        shown,
        'products',
    );
    same(String(score[key]), await number(page, 'score'), 'score');
    same(String(columnsOf(found, 'scaled').scaled[key]), await number(page, 'scaled'), 'scaled');
    const { masked } = columnsOf(found, 'masked');
    same(String(masked[key]), await number(page, 'masked score'));
    same(texts(masked.slice(0, row + 1)), (await column(page, 'masked score')).slice(0, row + 1));
    const { weight } = columnsOf(found, 'weights');
    same(texts(weight.slice(0, row + 1)), (await column(page, 'weight')).slice(0, row + 1));
    same(texts(columnsOf(found, 'values').v[key]), await column(page, 'v'), 'v');
    const context = found.steps.find((step) => step.name === 'context').total.weighted;
    same(texts(context), await column(page, 'context'), `context ${what}`);
    const pair = found.steps.find((step) => step.name === 'difference');
    if (!pair) return;
    const { difference } = columnsOf(found, 'difference');
    same(String(difference[key]), await number(page, 'difference'), 'difference');
}

for (const width of [1440, 1280, 1024])
    await test(`all columns of its tables are visible at ${width} pixels`, () =>
        withPage(
            writePage('-s', 'The keys to the cabinet'),
            async (page) => {
                await keep(page, 4, 3);
                for (const table of await page.locator('#why .wide').all()) {
                    const [across, room] = await table.evaluate((one) => [
                        one.scrollWidth,
                        one.clientWidth,
                    ]);
                    yes(across <= room, `${across} pixels in ${room}`);
                }
            },
            { viewport: { width, height: 800 } },
        ));

await test('the panel of a cell has the numbers of `explain`', async () => {
    const options = ['-s', LIFE];
    await withPage(writePage(...options), async (page) => {
        await keep(page, 3, 1);
        await checkCell(page, options, 3, 1);
        same('1 is', await page.innerText('#why tr[aria-current] th'));
        await keep(page, 3, 2);
        await checkCell(page, options, 3, 2);
        yes((await readout(page)).includes('query 3, key 2'), await readout(page));
    });
});

await test('the panel supports families, with the rotation of queries and keys', async () => {
    for (const [name, turns] of [
        ['llama', true],
        ['gemma2', true],
        ['bloom', false],
        ['qwen3', true],
        ['diffllama', true],
    ]) {
        const model = join(process.env.ROOT, 'tests/references/golden-families', name);
        const options = ['-m', model, '--ids', '11,12,9,10'];
        await withPage(writePage(...options), async (page) => {
            await keep(page, 2, 1);
            await checkCell(page, options, 2, 1, name);
            same(turns, (await column(page, 'k before')) !== null, `${name} turns`);
            if (!turns) return;
            const before = json(...options, '--show', 'q_pre').tensors['h.0.q_pre'][1][2];
            same(texts(before), await column(page, 'q before'));
        });
    }
});

await test('a difference of two heads is explained like a weight', async () => {
    const model = join(process.env.ROOT, 'tests/references/golden-families/diffllama');
    const options = ['-m', model, '--ids', '11,12,9,10', '--show', 'weights,difference'];
    const { difference } = columnsOf(
        attnJson('explain', '-q', ...options.slice(0, 4), '--head', '1', '--token', '2'),
        'difference',
    );
    await withPage(writePage(...options), async (page) => {
        await keep(page, 2, 1, '0.1&show=difference');
        same(String(difference[1]), await number(page, 'difference'));
        yes((await readout(page)).includes('query 2, key 1'), await readout(page));
    });
});

await test('the capped score has the number of `explain`', async () => {
    const model = join(process.env.ROOT, 'tests/references/golden-families/gemma2');
    const options = ['-m', model, '--ids', '11,12,9,10'];
    const found = attnJson('explain', '-q', ...options, '--head', '1', '--token', '2');
    await withPage(writePage(...options), async (page) => {
        await keep(page, 2, 1);
        const { capped } = columnsOf(found, 'capped');
        const off = Math.abs(Number(await number(page, 'capped')) - capped[1]);
        yes(off <= 2e-7 * Math.abs(capped[1]), `${await number(page, 'capped')} ${capped[1]}`);
    });
});

await test('the panel supports linear and cross-attention and bare vectors', async () => {
    const linear = ['-s', LIFE, '--attention', 'linear'];
    await withPage(writePage(...linear), async (page) => {
        await keep(page, 3, 1, '0.0');
        const found = attnJson('explain', '-q', ...linear, '--token', '3');
        const products = found.steps.find((step) => step.columns?.score && step.columns?.g);
        same(String(products.columns.score[1]), await number(page, 'score'));
        const shown = (await column(page, 'φ(k)')).map(Number);
        same(products.columns.g[1].length, shown.length);
        products.columns.g[1].forEach((value, i) => // the browser's exp may round the last bit
            yes(Math.abs(value - shown[i]) <= 1e-7 * Math.max(1, value), `${value} ${shown[i]}`),
        );
    });
    const both = ['-m', 'translate', '-s', '<s> le', '--source', 'the small cat'];
    await withPage(writePage(...both, '--show', 'cross_weights'), async (page) => {
        await keep(page, 1, 2, '0.0');
        const found = attnJson('explain', '-q', ...both, '--token', '1', '--part', 'cross');
        same(String(columnsOf(found, 'scores').score[2]), await number(page, 'score'));
        const line = await page.locator('#why code').first().innerText();
        yes(line.includes('--part cross'), line);
        await keep(page, 0, 2, '0.0');
        const cell = await readout(page); // the row looks for the next word
        yes(cell.includes('<s> → le'), cell);
    });
    const other = ['-m', 'tests/references/golden-families/m2m_100', '--ids', '4,8,9', '--source', '9,7,6,5'];
    const explained = ['--explain', '0.1,1.3'];
    await withPage(writePage(...other, ...explained), async (page) => {
        const sizes = [];
        for (const [show, part, head, row] of [
            ['enc.weights', 'encoder', '0.1', 3],
            ['cross_weights', 'cross', '1.3', 1],
            ['weights', 'self', '1.3', 2],
        ]) {
            await go(page, `show=${show}&head=${head}&cell=${row},1&why=1`);
            for (const summary of await page.locator('#why summary').all()) await summary.click();
            const [layer, index] = head.split('.');
            const place = ['--layer', layer, '--head', index, '--token', String(row)];
            const found = attnJson('explain', '-q', ...other, ...place, '--part', part);
            for (const name of ['score', 'scaled'])
                same(String(columnsOf(found, `${name}s`.replace('ds', 'd'))[name][1]),
                    await number(page, name), show);
            const heads = await page.locator('#grid .thumb').count();
            sizes.push([await page.innerText('#origin'), heads]);
        }
        const decoder = ['2 layers × 4 heads · attn-cli', 8];
        same([['1 layer × 2 heads · attn-cli', 2], decoder, decoder], sizes);
        same('cross-attention 1', (await page.locator('#layer-rows th').allInnerTexts()).at(-2));
    });
    const bare = ['-m', 'journey', '-s', 'Your journey starts'];
    await withPage(writePage(...bare), async (page) => {
        await keep(page, 0, 2, '0.0');
        const found = attnJson('explain', '-q', ...bare, '--token', '0');
        same(String(columnsOf(found, 'scores').score[2]), await number(page, 'score'));
    });
});

await test('the panel of a head not included gives its size and a command line', async () => {
    const path = writePage('-s', "it's short", '--explain', '1.0');
    await withPage(path, async (page) => {
        await keep(page, 1, 0, '0.0');
        const text = await page.locator('#why').innerText();
        const lines = await page.locator('#why code').allInnerTexts();
        const before = readFileSync(path).length;
        const all = lines.find((line) => line.includes('--explain all')).replace('attn-cli', attn).replace('page.html', path);
        execFileSync('sh', ['-c', `${all} -q --explain none`]);
        const none = readFileSync(path).length;
        execFileSync('sh', ['-c', `${all} -q`]);
        const told = Number(/of all heads ([\d,]+)/.exec(text)[1].replaceAll(',', ''));
        const real = readFileSync(path).length - none;
        yes(before > none && Math.abs(told - real) < 0.3 * real, `${told} ${real}`);
    });
    await withPage(path, async (page) => {
        await keep(page, 1, 0);
        yes((await column(page, 'q')) !== null, 'the included head has no numbers');
    });
});

await test('the panel begins with a verdict and links to other heads', () =>
    withPage(writePage('-s', LIFE), async (page) => {
        const { tensors } = json('-s', LIFE);
        await keep(page, 4, 2, '1.1');
        const row = tensors['h.1.weights'][1][4];
        const share = `${(100 * row[2]).toFixed(1)} %`;
        same(
            `${share} of this query’s attention, the highest of 5 visible keys`,
            await page.innerText('#why .verdict'),
        );
        const all = [0, 1].flatMap((layer) =>
            tensors[`h.${layer}.weights`].map((head, at) => [head[4][2], `L${layer}H${at}`]),
        );
        const expected = all.sort((a, b) => b[0] - a[0]).slice(0, 3);
        same(
            expected.map(([value, name]) => `${name} ${value.toFixed(2)}`),
            await page.$$eval('#why > p.names button', (found) => found.map((one) => one.textContent)),
        );
        await page.locator('#why > p.names button').first().click();
        yes((await readout(page)).startsWith(expected[0][0].toFixed(2)), await readout(page));
        yes(await page.isVisible('#why .verdict'), 'no explanation there');
    }));

const PLACES = 'lemon cherry apple lemon';
const pairsOf = (page) => page.locator('#why .pairs .value').allInnerTexts();
const shownPairs = (found) =>
    found.tables.score_pairs
        .slice(0, 3)
        .map(({ value }) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`);

await test('the panel says where query and key come from, as `attribute` does', () =>
    withPage(writePage('-s', PLACES), async (page) => {
        const asked = ['attribute', '-q', PLACES, '--head', '1.3', '--query', '8', '--key'];
        await go(page, 'head=1.3&cell=8,2&why=1');
        await page.click('#why summary >> nth=0');
        same(shownPairs(attnJson(...asked, '2:mean')), await pairsOf(page));
        const found = attnJson(...asked, '2');
        await page.click('#why .origin >> text=the score alone');
        same(shownPairs(found), await pairsOf(page));
        const part = found.tables.score_parts.find(
            (one) => one.side === 'key' && one.part === 'L0.H1',
        );
        const cell = page.locator('#why .parts button[title^="L0H1"]').first();
        const shown = Number((await cell.getAttribute('title')).split(' ').at(-1).replace('−', '-'));
        yes(Math.abs(shown - part.value) <= 0.01 * Math.abs(part.value), `${shown} ${part.value}`);
    }));

await test('the panel says why the first word attends to itself', () =>
    withPage(writePage('-s', PLACES), async (page) => {
        await go(page, 'head=1.3&cell=0,0&why=1');
        const words = 'The first word sees only itself: later words are masked.';
        yes((await page.innerText('#why')).includes(words), 'a cell');
        await go(page, 'head=1.3&cell=0,2&why=1');
        yes((await page.innerText('#why')).includes(words), 'a masked cell');
        await go(page, 'head=1.3&cell=2,0&why=1');
        yes(!(await page.innerText('#why')).includes(words), 'another row');
        await go(page, 'lang=zh&head=1.3&cell=0,0&why=1');
        yes((await page.innerText('#why')).includes('第一个词只看得到自己'), 'in Chinese');
    }));

await test('a presentation has the sum of the row, what empty cells are, and Why', () =>
    withPage(
        writePage('-s', PLACES),
        async (page) => {
            await page.keyboard.press('p');
            same('row sum 1.00 · no number: below 0.005', await page.innerText('#map-words'));
            await page.keyboard.press('Enter');
            await page.locator('#why.open').waitFor();
            await page.keyboard.press('Escape');
            await page.locator('#why').waitFor({ state: 'hidden' });
            yes(page.url().includes('present=1'), 'the presentation ended');
        },
        { viewport: { width: 1280, height: 720 } },
    ));

await test('words have the points that the prediction loses without them: --knockout', async () => {
    const keys = 'The keys to the cabinet';
    await withPage(writePage('-s', keys), async (page) => {
        await page.click('#without summary');
        const [first, ...said] = await page.locator('#without p').allInnerTexts();
        yes(first.startsWith('A small number is no proof'), first);
        yes(said.at(-1).startsWith('“are” uses “keys” most'), said.at(-1));
        const points = await page.locator('#without .word i').allInnerTexts();
        same('', points.pop());
        samePoints(pointsWithout(-1, [0, 1, 2, 3], keys), points);
        await page.click('.chip >> nth=2');
        yes((await page.innerText('#without')).includes('holds this for “cabinet”'), 'no words');
        const line = await page.locator('#without code').innerText();
        same(true, line.endsWith('lens -m tiny -s \'The keys to the cabinet\' --knockout=2:1'), line);
    });
    const words = ['-m', 'cloze', 'The [MASK] sat on the mat'];
    await withPage(writePage(...words), async (page) => {
        await page.click('#without summary');
        const points = await page.locator('#without .word i').allInnerTexts();
        const others = [0, 1, 3, 4, 5, 6, 7];
        samePoints(pointsWithout(2, others, ...words), others.map((at) => points[at]));
    });
});

await test('a head that a query or key comes from is a click away, and so is the way back', () =>
    withPage(writePage('-s', PLACES), async (page) => {
        const strongest = json('-s', PLACES).tensors['h.0.weights'][1][2];
        const key = strongest.indexOf(Math.max(...strongest));
        await go(page, 'head=1.3&cell=8,2&why=1');
        await page.click('#why summary >> nth=0');
        await page.click('#why .parts button[title^="L0H1"] >> nth=0');
        yes((await readout(page)).includes(`query 2, key ${key}`), await readout(page));
        same('L1H3 ← L0H1', (await page.innerText('#why .trail')).replace(/\s+/g, ' '));
        yes(await page.isVisible('#why .verdict'), 'the panel is closed');
        await page.click('#why .trail button');
        yes((await readout(page)).includes('query 8, key 2'), await readout(page));
        same(0, await page.locator('#why .trail').count());
        await page.click('#why .parts button[title^="L0H1"] >> nth=0');
        await page.click('#why > p.names .name[aria-pressed="false"] >> nth=0'); // another head
        same(0, await page.locator('#why .trail').count());
    }));

await test('another key than the strongest has a command that splits its score', () =>
    withPage(writePage('-s', PLACES), async (page) => {
        await go(page, 'head=1.3&cell=8,3&why=1');
        await page.click('#why summary >> nth=0');
        const line = await page.locator('#why .origin code').innerText();
        const found = JSON.parse(
            execFileSync('sh', ['-c', `${line.replace('attn-cli', attn)} -q --format json`]),
        );
        same(['1.3', 8, 3, 'mean'], ['head', 'query', 'key', 'against'].map((at) => found.facts[at]));
    }));

await test('a masked cell has the score −∞ and the weight 0', () =>
    withPage(writePage('-s', LIFE), async (page) => {
        await keep(page, 2, 5);
        same(
            'Masked: the query cannot see this key, so its weight is 0.',
            await page.innerText('#why .verdict'),
        );
        same('−∞', await number(page, 'masked score'));
        same('0', await number(page, 'weight'));
        const text = await readout(page);
        yes(text.startsWith('0') && text.includes('score −∞, weight 0'), text);
    }));

const BOTH = ['The keys to the cabinet', 'The key to the cabinets'];
await test('numbers of both texts of a change are explained as shown', () =>
    withPage(writePage(...BOTH), async (page) => {
        const [b, a] = BOTH.map((text) => {
            const row = json('-s', text).tensors['h.1.weights'][3][4];
            return `${(100 * row[1]).toFixed(1)} % of this query’s attention`;
        });
        yes(a !== b, 'the texts have the same number');
        await go(page, 'pin=1&head=1.3&cell=4,1');
        await page.click('#why-button');
        const found = await page.locator('#why .verdict').allInnerTexts();
        same([a, b], found.map((text) => text.replace(/,.*/, '')));
        const heads = await page.locator('#why .why-head > span').allInnerTexts();
        same(['L1H3 in A', 'L1H3 in B'], heads.map((text) => text.replace(/ · .*/, '')));
        same(1, await page.locator('#why .close').count());
        yes((await page.innerText('#why .why-head >> nth=0')).includes('cabinets'), 'the words of B');
    }));
