// The head of a page, with what stands out in its text; the switch of its views; the second form of
// the heads.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import {
    TEXT_OF_MODEL,
    attn,
    attnJson,
    bars,
    boxOf,
    cellsOf,
    drawn,
    go,
    json,
    plain,
    roundShare,
    same,
    sameFinding,
    scratch,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

const TIRED = 'The chicken did not cross the road because it was too tired';
const WIDE = TIRED.replace('tired', 'wide');
const KEYS = 'The keys to the cabinet';
const path = writePage('-s', TIRED, '-s', WIDE, '-s', KEYS);
const twelve = join(scratch, 'twelve-views');
const SIXTY = Array.from({ length: 60 }, (_, i) => `w${i}`).join(' ');
const sizes = 'n_layer=12,n_head=12,n_embd=48,n_positions=64';
execFileSync(attn, ['init', '-q', '--shape', 'tiny', '--set', sizes, '-s', SIXTY, '-o', twelve]);

const pressed = (page, box) =>
    page.$$eval(`${box} [aria-pressed="true"]`, (all) => all.map((one) => one.innerText.trim()));
const texts = (page, selector) => page.locator(selector).allInnerTexts();

function close(expected, found, what) {
    same(expected.length, found.length, what);
    expected.forEach((value, at) => {
        const by = Math.abs((found[at] ?? 0) - value);
        yes(by <= Math.max(1e-3 * Math.abs(value), 2e-4), `${what}: ${at}: ${value}, ${found[at]}`);
    });
}

await test('features of the selected token are those of the command, also without predictions', async () => {
    const { tables, facts } = attnJson('features', '--sae', 'demo', '-s', KEYS, '--top', '8');
    const read = (page) =>
        page.$$eval('#features li', (all) =>
            all.map((one) => [...one.children].map((part) => part.title || part.textContent)),
        );
    for (const more of [[], ['--top', '0']])
        await withPage(writePage('-s', KEYS, '--sae', 'demo', ...more), async (page) => {
            for (const at of [1, 4]) {
                await go(page, `token=${at}`);
                const rows = tables.features.filter((one) => one.position === at);
                const found = await read(page);
                same(rows.map(({ feature }) => String(feature)), found.map(([id]) => id));
                close(rows.map((one) => one.activation), found.map((one) => Number(one[2])), 'bars');
                same(rows.map((one) => one.promotes.replaceAll('␣', '')), found.map((one) => one[3]));
                const name = KEYS.split(' ')[at];
                same(`Features at “${name}”`, await page.innerText('#features-title'));
            }
            const widths = await page.$$eval('#features i', (all) => all.map((one) => one.style.width));
            same('100%', widths[0]);
            const words = await page.locator('#features p').first().innerText();
            const share = facts.unexplained.toFixed(3);
            same(`demo · layer 1 resid_post · L0 ${facts.l0.toFixed(1)} · unexplained ${share}`, words);
            same(!more.length, await page.isVisible('#bars'), 'the prediction');
        });
    await withPage(path, async (page) => yes(!(await page.isVisible('#features')), 'no features'));
    await withPage(writePage('-s', 'The', '--sae', 'demo'), async (page) => // has no variance
        same('demo · layer 1 resid_post · L0 8.0', await page.locator('#features p').first().innerText()),
    );
});

await test('keys and the switch change the view, which keeps text, query, layer and head', () =>
    withPage(path, async (page) => {
        await go(page, 'sentence=1&token=8&head=1.1');
        await page.keyboard.press('v');
        same(['Motion'], await pressed(page, '#screens'));
        yes(!(await page.isVisible('#stage')) && (await page.isVisible('#chips')), 'the matrix');
        await page.keyboard.press(']');
        const address = await page.evaluate(() => location.hash);
        yes(/sentence=1&screen=motion&head=1.2&token=8/.test(address), address);
        await page.keyboard.press('m');
        same('it', (await page.locator('.chip[aria-pressed="true"]').innerText()).trim());
        yes((await page.innerText('#head-title')).startsWith('L1H2'), 'another head');
        yes(!(await page.isVisible('#motion')), 'the motion is in the matrix');
        await page.click('#screen-write');
        await page.goBack();
        await page.goForward();
        same(['Write'], await pressed(page, '#screens'));
        await page.reload();
        same(['Write'], await pressed(page, '#screens'));
    }));

// --- the head of the page --------------------------------------------------------------------------

// Numbers of arcs that an arc crosses, and how many numbers there are.
const crossedNumbers = (page) =>
    page.evaluate(() => {
        const [numbers, arcs] = ['text', 'path:not(.hit)'].map((one) => [
            ...document.querySelectorAll(`#arcs ${one}`),
        ]);
        const isOn = (arc, { x, y, width, height }) => {
            const thick = Number(arc.getAttribute('stroke-width')) / 2;
            const length = arc.getTotalLength();
            return Array.from({ length: 400 }, (_, at) => arc.getPointAtLength((length * at) / 399)).some(
                (one) =>
                    one.x > x - thick && one.x < x + width + thick &&
                    one.y > y + 3 - thick && one.y < y + height - 3 + thick, // letters
            );
        };
        const isCrossed = (one) => arcs.some((arc) => isOn(arc, one.getBBox()));
        return [numbers.filter(isCrossed).map((one) => one.textContent), numbers.length];
    });

await test('a page without an engine tells the prediction before and after each word is out of sight', async () => {
    const viewport = { width: 1280, height: 720 };
    for (const [model, text, row, keys] of [
        ['tiny', KEYS, 4, [0, 1, 2, 3]],
        ['cloze', 'The [MASK] sat on the mat', 2, [1, 3, 6]],
    ])
        await withPage(
            writePage('-m', model, text),
            async (page) => {
                const was = nextOf(model, text, row);
                const nameOf = (id) => json('-m', model, '--ids', `${id}`).tokens.find((one) => one.id === id).text;
                const [left, top, wide, high] = await cellsOf(page);
                const box = await boxOf(page.locator('#stage .over'));
                const changed = [];
                for (const key of keys) {
                    await page.mouse.move(box.x + left + wide * (key + 0.5), box.y + top + high * (row + 0.5));
                    await drawn(page);
                    const said = await page.innerText('#effect');
                    const is = nextOf(model, text, row, `--knockout=${row}:${key}`);
                    const share = attnShare(model, text, row, was.id, `--knockout=${row}:${key}`);
                    const [old, now] = [was.share, share].map(roundShare);
                    yes(said.includes(`${old} → ${now}`), `${key}: ${said}, expected ${old} → ${now}`);
                    const words = was.id === is.id ? 'would stay the most likely'
                        : `The model would say “${plain(nameOf(is.id))}” in place of “${plain(nameOf(was.id))}”`;
                    yes(said.includes(words), `${key}: ${said}, expected ${words}`);
                    changed.push(was.id === is.id);
                }
                yes(new Set(changed).size === 2, `all of ${changed}`);
                await page.mouse.move(box.x + left + wide / 2, box.y + top + high / 2);
                await drawn(page);
                yes((await page.innerText('#effect')).startsWith('Point at a cell of the row'), 'no hint');
                await go(page, 'lang=zh');
                await page.mouse.move(box.x + left + wide * 1.5, box.y + top + high * (row + 0.5));
                await drawn(page);
                yes(/^如果“.*看不到.*。/.test(await page.innerText('#effect')), await page.innerText('#effect'));
                await page.click('#without summary');
                yes(/模型会说“|仍是最可能/.test(await page.innerText('#without')), 'not in Chinese');
            },
            { viewport },
        );
});

await test('no arc crosses the number of an arc', async () => {
    const roles = writePage('-m', 'roles', TIRED.replace('too ', ''));
    const viewport = { width: 1280, height: 720 };
    let all = 0;
    await withPage(
        roles,
        async (page) => {
            await drawn(page);
            same([[], 4], await crossedNumbers(page));
            for (const head of ['0.3', '1.0'])
                for (const token of [0, 2, 5, 7, 9, 12]) {
                    await go(page, `head=${head}&token=${token}`);
                    const [crossed, count] = await crossedNumbers(page);
                    same([], crossed, `${head} ${token}`);
                    yes(count >= Number(await page.locator('#arcs path.main').count() > 0), 'no number');
                    all += count;
                }
        },
        { viewport },
    );
    yes(all > 15, `${all} numbers`);
});

const fox = 'red fox green boat small lamp old door red fox green boat small lamp old';

// The next token of a model at a row and its probability, by the program.
function nextOf(model, text, row, ...options) {
    const words = ['-m', model, '-s', text, '--show', 'logits', ...options];
    const { tensors, tokens } = json(...words);
    const logits = tensors.logits.at(row);
    const sum = logits.reduce((all, one) => all + Math.exp(one), 0);
    const id = logits.indexOf(Math.max(...logits));
    return { id, share: Math.exp(logits[id]) / sum, tokens };
}

// The probability of a token at a row, by the program.
function attnShare(model, text, row, id, ...options) {
    const logits = json('-m', model, '-s', text, '--show', 'logits', ...options).tensors.logits.at(row);
    return Math.exp(logits[id]) / logits.reduce((all, one) => all + Math.exp(one), 0);
}

await test('the headline, its head and what the model would say are those of the command line', async () => {
    for (const [model, text, layer, head, query, key] of [
        ['tiny', KEYS, 1, 3, 4, 1],
        ['tiny', 'The key to the cabinets', 1, 3, 4, 1],
        ['tiny', fox, 1, 0, 14, 7],
        ['cloze', 'the keys to the cabinet [MASK] old.', 1, 2, 6, 2],
    ])
        await withPage(writePage('-m', model, text), async (page) => {
            const [headline, said] = [await page.innerText('#headline'), await page.innerText('#finding')];
            const { tensors } = json('-m', model, '-s', text, '--layer', `${layer}`);
            const weight = tensors[`h.${layer}.weights`][head][query][key];
            const [now, cut] = [nextOf(model, text, query),
                nextOf(model, text, query, `--knockout=${query}:${key}`)];
            const [[name]] = await bars(page);
            yes(headline.endsWith(`says “${plain(name)}” ${roundShare(now.share)}`), headline);
            yes(said.includes(`L${layer}H${head}`) && said.includes(`(${roundShare(weight)})`), said);
            if (now.id === cut.id) yes(said.includes(`would fall to ${roundShare(cut.share)}.`), said);
            else yes(said.endsWith(`the model would say ${/“[^”]*” \([^)]*\)\.$/.exec(said)?.[0]}`), said);
            yes(now.id === cut.id || said.includes(`(${roundShare(cut.share)}).`), said);
            same(`L${layer}H${head}`, (await page.innerText('#head-title')).split(' ')[0]);
            same(String(query), await page.getAttribute('#chips [aria-pressed="true"]', 'data-at'));
            same(1, await page.locator('#arcs path').count());
        });
});

const bundled = readdirSync(join(process.env.ROOT, 'models')).filter((name) =>
    existsSync(join(process.env.ROOT, 'models', name, 'config.json')));

await test('of each bundled model, a page tells the finding of the command line', async () => {
    same(bundled.sort(), Object.keys(TEXT_OF_MODEL).sort());
    for (const [model, words] of Object.entries(TEXT_OF_MODEL))
        await withPage(writePage('-m', model, '-s', ...words), (page) => sameFinding(page, model, '-s', ...words));
    // an arrow that changes the best guess, though not its probability
    const book = ['-s', 'The book that the farmer forgot [MASK] the cabinets is clean.'];
    await withPage(writePage('-m', 'cloze', ...book), (page) => sameFinding(page, 'cloze', ...book));
});

await test('a text without a finding says so, and its arcs are the mean of all heads', () => {
    const text = 'Once upon a time there was a little';
    return withPage(writePage(text), async (page) => {
        yes((await page.innerText('#finding')).startsWith('No head stands out here. The arcs'), 'a finding');
        const { tensors } = json('-s', text);
        const rows = [0, 1].flatMap((layer) => tensors[`h.${layer}.weights`].map((one) => one.at(-1)));
        const means = rows[0].map((_, key) => rows.reduce((sum, row) => sum + row[key], 0) / rows.length);
        same(means.filter((one) => one >= 0.05).length, await page.locator('#arcs path').count());
        await page.click('.thumb[data-head="1.2"]');
        await drawn(page);
        same(rows[6].filter((one) => one >= 0.1).length, await page.locator('#arcs path').count());
    });
});

await test('an encoder and a translator open on their sentence', async () => {
    await withPage(writePage('-m', 'roles', `${TIRED.replace('did not', "didn't")}.`), async (page) => {
        same('“it” looks back at “chicken” (99.7 %)', await page.innerText('#headline'));
        yes((await page.innerText('#finding')).startsWith('Seen in head L1H0. Others: “cross” →'), 'others');
        same(4, await page.locator('#arcs path').count());
        same('it → chicken', await page.innerText('#pair'));
        await page.click('#finding [data-head="1.1"]');
        same('cross → chicken', await page.innerText('#pair'));
    });
    const source = 'the small black cat sees a white cow';
    await withPage(
        writePage('-m', 'translate', '-s', '<s> le petit chat noir voit une vache blanche', '--source', source),
        async (page) => {
            same('To write “noir” the model looks at “black” (90 %)', await page.innerText('#headline'));
            same('noir', await page.innerText('#chips [aria-pressed="true"]'));
            same('black', await page.innerText('#source [aria-pressed="true"]'));
            same(1, await page.locator('#arcs path.main').count());
        },
    );
    await withPage(writePage('-m', 'recall', 'cat red dog blue cat green cat'), async (page) => {
        same('After “cat” the model says “green” 78 %', await page.innerText('#headline'));
        yes((await page.innerText('#finding')).startsWith('The state of L0H0 gives back'), 'a state');
    });
});

for (const [width, height] of [
    [1280, 720],
    [1440, 900],
    [390, 844],
])
    await test(`the first view fits a window of ${width} × ${height}, light and dark, in both languages`, async () => {
        const first = [['-s', KEYS], ['-s', fox], ['-m', 'roles', `${TIRED}.`], ['-m', 'life', 'Life is short'],
            ['-m', 'cloze', 'the keys to the cabinet [MASK] old.'],
            ['-m', 'recall', 'cat red dog blue cat green cat'],
            ['-m', 'translate', '-s', '<s> le petit chat', '--source', 'the small cat']];
        const many = ['-m', twelve, SIXTY, '--lens'];
        const isPhone = width < 700;
        for (const words of [...first, many])
            for (const colorScheme of ['light', 'dark'])
                await withPage(
                    writePage(...words),
                    async (page) => {
                        for (const lang of ['en', 'zh']) {
                            await go(page, `lang=${lang}`);
                            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
                            const what = `${words.join(' ').slice(0, 40)} ${lang}`;
                            yes(wide <= width, `${what}: ${wide}`);
                            const arcs = await page.locator('#arcs path').count();
                            yes(arcs > 0 || words === many, `${what}: no arc`);
                            if (isPhone || words === many) continue;
                            const legend = await boxOf(page.locator('#legend'));
                            yes(legend.y + legend.height < height, `${what}: the legend`);
                            const { y, height: high } = await boxOf(page.locator('#readout'));
                            yes(y + high <= height, `${what}: the readout ends at ${y + high}`);
                        }
                    },
                    { viewport: { width, height }, colorScheme, isMobile: isPhone, hasTouch: isPhone },
                );
    });

await test('each head has a strip with its largest weight, which selects the head', async () => {
    await withPage(path, async (page) => {
        await go(page, 'form=rows&token=8');
        const { tensors } = json('-s', TIRED);
        const words = TIRED.split(' ');
        const expected = [0, 1].flatMap((layer) =>
            tensors[`h.${layer}.weights`].map((head) => {
                const most = Math.max(...head[8]);
                return `${words[head[8].indexOf(most)]} ${most.toFixed(2).replace('0.', '.')}`;
            }),
        );
        await page.locator('#strips .most:not(:empty)').first().waitFor();
        same(expected, await texts(page, '#strips .most'));
        await page.click('.strip[data-head="0.1"]');
        same(1, await page.locator('.strip[aria-pressed="true"]').count());
        yes((await page.innerText('#head-title')).startsWith('L0H1'), 'another head');
        await page.click('#form-maps');
        yes(!(await page.isVisible('#strips')) && (await page.isVisible('#grid')), 'both forms');
    });
    await withPage(writePage('-m', twelve, SIXTY), async (page) => {
        await go(page, 'form=rows&head=7.5');
        same(144, await page.locator('.strip').count());
        const tops = await page.$$eval('.strip', (all) => [
            ...new Set(all.map((one) => one.getBoundingClientRect().top)),
        ]);
        same(12, tops.length, 'rows');
    });
});

await test('c compares with a text of as many words, of which others are matched from both ends', async () => {
    await withPage(path, async (page) => {
        await go(page, 'head=1.3&token=11');
        await page.keyboard.press('c');
        same('#pin=1&head=1.3&token=11', await page.evaluate(() => location.hash).then((one) =>
            one.replace(/head=\d\.\d/, 'head=1.3')));
        await page.keyboard.press('c');
        same('', await page.inputValue('#compare'));
    });
    const [one, other] = ['The keys to the old cabinet', KEYS];
    await withPage(writePage('-s', one, '-s', other), async (page) => {
        await go(page, 'pin=1&head=1.3&cell=5,1');
        const [now, then] = [one, other].map((text) => json('-s', text).tensors['h.1.weights'][3]);
        const by = now[5][1] - then[4][1]; // "cabinet" of both
        const text = await page.innerText('#value');
        same(`${by < 0 ? '−' : '+'}${Math.abs(by).toFixed(Math.abs(by) < 0.005 ? 4 : 2)}`, text);
    });
});

await test('in a presentation the switch is in the header, on a phone in a row of its own', async () => {
    await withPage(path, async (page) => {
        await page.keyboard.press('p');
        const [header, box] = [await boxOf(page.locator('header')), await boxOf(page.locator('#screens'))];
        yes(box.y >= header.y && box.y + box.height <= header.y + header.height, 'not in the header');
        await page.keyboard.press('Escape');
    });
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    await withPage(
        path,
        async (page) => {
            const box = await boxOf(page.locator('#screens'));
            yes(box.width > 350 && box.height >= 40, JSON.stringify(box));
        },
        phone,
    );
});

await test('a number above 0 is blue and one below 0 orange, in all parts', () =>
    withPage(
        writePage('-s', 'red fox green boat small lamp old door red fox green boat small lamp old'),
        async (page) => {
            for (const one of ['#without', '#why details']) // the former below the panel
                await page.locator(one).first().evaluate((box) => (box.open = true));
            await page.waitForSelector('#why .parts');
            const found = await page.evaluate(() => {
                const numberIn = (text) => Number(/[−+]?[\d.]+$/.exec(text)[0].replace('−', '-'));
                const colourOf = (one) => getComputedStyle(one).backgroundColor.match(/\d+/g);
                const of = (selector, text, coloured = (one) => one) =>
                    [...document.querySelectorAll(selector)].map((one) =>
                        [numberIn(text(one)), colourOf(coloured(one)).map(Number)]);
                return {
                    lead: of('#why .bar:has(.axis):not(:has(.quiet))',
                        (one) => one.lastChild.textContent, (one) => one.querySelector('i')),
                    parts: of('#why .parts > :is(i, button)[title]', (one) => one.title),
                    words: of('#without .word:has(i:not(:empty))', (one) => one.lastChild.textContent),
                };
            });
            for (const [part, list] of Object.entries(found)) {
                const clear = list.filter(([, [red, , blue]]) => Math.abs(red - blue) > 20);
                const wrong = clear.filter(([value, [red, , blue]]) => value > 0 !== blue > red);
                same([], wrong, part);
                yes(clear.length, `no colours of ${part}`);
            }
        },
        { hash: '#head=1.3&cell=14,7&why=1' },
    ));

await test('a page without an engine says how its text is edited', async () => {
    await withPage(writePage('-s', 'Life is short'), async (page) => {
        yes(await page.isHidden('#fixed'), 'the note is there before it is asked for');
        await page.click('#plain');
        yes((await page.innerText('#fixed')).startsWith('The text of this page is fixed.'), 'no note');
        same("attn-cli page -m tiny -s 'Life is short' --live -o live.html",
            await page.innerText('#fixed code'));
        await page.keyboard.press('Escape');
        yes(await page.isHidden('#fixed'), 'Esc leaves the note');
    });
    const given = ['-m', 'translate', '--source', 'the cat', '-s', '<s> le chat'];
    await withPage(writePage(...given), async (page) => {
        await page.click('#plain');
        same("attn-cli page -m translate --source 'the cat' --live -o live.html",
            await page.innerText('#fixed code'));
    });
    await withPage(writePage('--ids', '1,2'), async (page) =>
        same(0, await page.locator('#fixed code').count()));
});

// A live page runs the unmodified model; `attribute --head` and `explain` lack some options of pages.
await test('all commands of a page with edits of features or with another precision run', async () => {
    const text = ['-m', 'tiny', '-s', 'The keys to the cabinet', '--lens'];
    const edit = ['--sae', 'demo', '--edit', 'features[feature=27,token=-1] = 0'];
    for (const options of [edit, ['--precision', 'bf16'], ['--ablate', '0.1']])
        await withPage(writePage(...text, ...options), async (page) => {
            await go(page, 'head=1.1&cell=3,0&why=1');
            await page.$$eval('details', (all) => all.forEach((one) => (one.open = true)));
            await page.locator('#without code').waitFor();
            const lines = await page.$$eval('code', (all) => all.map((one) => one.textContent));
            yes(lines.length > 2, 'the page has no commands');
            for (const line of new Set(lines)) {
                if (line.includes('--live')) yes(!line.includes(options[0]), line);
                else execFileSync('sh', ['-c', line.replace('attn-cli', attn)], { cwd: scratch });
            }
        });
});
