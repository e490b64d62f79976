// Views of the workbench: the switch, and the text lit by its weights. Numbers are those of the
// command that a page shows for its view.
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import process from 'node:process';
import {
    attn,
    attnJson,
    boxOf,
    go,
    json,
    percent,
    same,
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
const family = (name) => ['-m', join(process.env.ROOT, 'tests/references/golden-families', name)];
const IDS = ['--ids', '1,4,2,0,3,1'];

// The numbers of the lit words of each head that the page shows; null: masked.
const lit = (page) =>
    page.$$eval('#panes .words', (lines) =>
        lines.map((line) =>
            [...line.querySelectorAll('.word')].map((word) =>
                /\d/.test(word.title)
                    ? Number(word.title.split(' → ').at(-1).replace('−', '-'))
                    : null,
            ),
        ),
    );
const pressed = (page, box) =>
    page.$$eval(`${box} [aria-pressed="true"]`, (all) => all.map((one) => one.innerText.trim()));
const texts = (page, selector) => page.locator(selector).allInnerTexts();

// What the commands of the page say, and the row of their only matrix.
async function rowsOfCommands(page, row, cwd = scratch) {
    await page.keyboard.press('e');
    const commands = await texts(page, '#export-command code');
    await page.keyboard.press('Escape');
    return commands.map((command) => {
        const words = `${command.replace('attn-cli', `'${attn}'`)} -q --format json`;
        const { tensors } = JSON.parse(execFileSync('sh', ['-c', words], { cwd }));
        const found = Object.values(tensors);
        same(1, found.length, command);
        const [only] = found;
        return (only.length === 1 && only[0][0].length ? only[0] : only)[row];
    });
}

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
        await page.keyboard.press('t');
        same(['Text'], await pressed(page, '#screens'));
        same('Where “it” attends', await page.innerText('#reading-title'));
        yes(!(await page.isVisible('#stage')) && !(await page.isVisible('#chips')), 'the matrix');
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press(']');
        const address = await page.evaluate(() => location.hash);
        same('#sentence=1&screen=text&head=1.2&token=9', address);
        await page.keyboard.press('m');
        same('was', (await page.locator('.chip[aria-pressed="true"]').innerText()).trim());
        yes((await page.innerText('#head-title')).startsWith('L1·H2'), 'another head');
        yes(!(await page.isVisible('#reading')), 'the text is in the matrix');
        await page.click('#screen-text');
        same('Where “was” attends', await page.innerText('#reading-title'));
        await page.goBack();
        await page.goForward();
        same(address, await page.evaluate(() => location.hash));
        await page.reload();
        same('Where “was” attends', await page.innerText('#reading-title'));
        same(['was'], (await pressed(page, '#panes')).map((one) => one.split('\n')[0]));
    }));

await test('words show the weights of run, of a head, means of heads and attention rollout', async () => {
    for (const [words, hash] of [
        [['-s', TIRED], 'head=1.3&token=8'],
        [['-m', 'cloze', 'The [MASK] sat on the mat'], 'head=0.2&token=2'],
        [['-m', twelve, SIXTY], 'head=7.5&token=40'],
        [[...family('gpt_oss'), ...IDS], 'head=1.1&token=4'],
        [[...family('gemma3_text'), ...IDS], 'head=1.0&token=5'],
    ])
        await withPage(writePage(...words), async (page) => {
            for (const light of ['head', 'layer', 'all', 'flow']) {
                await go(page, `screen=text&light=${light}&${hash}`);
                const what = `${words.join(' ').slice(-60)} ${light}`;
                same(true, await page.locator(`#light-${light}`).evaluate((one) => one.ariaPressed === 'true'), what);
                const row = Number(/token=(\d+)/.exec(hash)[1]);
                const cwd = words[1].startsWith('/') ? dirname(words[1]) : scratch;
                const [expected] = await rowsOfCommands(page, row, cwd);
                const [found] = await lit(page);
                close(expected, found.slice(0, expected.length), what);
            }
        });
});

await test('a number is below each word with at least 0.05, and later words have none', () =>
    withPage(path, async (page) => {
        await go(page, 'screen=text&head=1.3&token=8');
        const row = json('-s', TIRED, '--layer', '1', '--head', '3').tensors['h.1.weights'][0][8];
        const shown = row.map((value) => (value >= 0.05 ? value.toFixed(2).replace('0.', '.') : ''));
        same(shown, await page.$$eval('#panes .word i', (all) => all.map((one) => one.textContent)));
        same(3, await page.locator('#panes .later').count());
        const most = row.indexOf(Math.max(...row));
        const said = await page.innerText('#reading-said');
        yes(said.includes(`“${TIRED.split(' ')[most]}”: ${(100 * row[most]).toFixed(0)} %`), said);
        const arcs = row.filter((value, at) => value >= 0.02 && at !== 8).length;
        same(arcs, await page.locator('#panes .arcs path').count());
        await page.hover('#panes .word[data-at="11"]');
        same('Where “tired” attends', await page.innerText('#reading-title'));
        await page.hover('h1');
        same('Where “it” attends', await page.innerText('#reading-title'));
    }));

await test('each head has a strip with its largest weight, which selects the head', async () => {
    await withPage(path, async (page) => {
        await go(page, 'screen=text&token=8');
        const { tensors } = json('-s', TIRED);
        const words = TIRED.split(' ');
        const expected = [0, 1].flatMap((layer) =>
            tensors[`h.${layer}.weights`].map((head) => {
                const most = Math.max(...head[8]);
                return `${words[head[8].indexOf(most)]} ${most.toFixed(2).replace('0.', '.')}`;
            }),
        );
        same(expected, await texts(page, '#strips .most'));
        await page.click('.strip[data-head="0.1"]');
        same(1, await page.locator('.strip[aria-pressed="true"]').count());
        yes((await page.innerText('#reading-head')).startsWith('L0·H1'), 'another head');
        await page.keyboard.press('ArrowDown'); // of a strip: the strip below
        same('1.1', await page.evaluate(() => document.activeElement.dataset.head));
    });
    await withPage(writePage('-m', twelve, SIXTY), async (page) => {
        await go(page, 'screen=text&head=7.5');
        same(144, await page.locator('.strip').count());
        yes((await page.innerText('#strip-said')).startsWith('L7·H5 · w'), 'no words of a strip');
        const tops = await page.$$eval('.strip', (all) => [
            ...new Set(all.map((one) => one.getBoundingClientRect().top)),
        ]);
        same(12, tops.length, 'rows');
    });
});

await test('the text of an encoder-decoder lights the words of the source', () =>
    withPage(
        writePage('-m', 'translate', '-s', '<s> le petit chat', '--source', 'the small cat'),
        async (page) => {
            await go(page, 'screen=text&token=2');
            const [source, target] = await page.$$eval('#panes p', (all) =>
                all.map((one) => one.innerText.replace(/[\d.\s]+/g, ' ').trim()),
            );
            same(['the small cat', '<s> le petit chat'], [source, target]);
            const words = ['-m', 'translate', '-s', '<s> le petit chat', '--source', 'the small cat'];
            const { tensors } = json(...words, '--show', 'cross_weights');
            const [[head]] = Object.values(tensors);
            const [found, queries] = await lit(page);
            close(head[2], found, 'cross_weights');
            same([null, null, null, null], queries);
            await page.click('#panes .word[data-at="1"] >> visible=true >> nth=-1');
            close(head[1], (await lit(page))[0], 'another query');
        },
    ));

await test('maps of layers that keep a state light words in two colours', () =>
    withPage(writePage(...family('qwen3_5'), ...IDS), async (page) => {
        await go(page, 'screen=text&head=1.2&token=5');
        const { tensors } = attnJson('run', '-q', ...family('qwen3_5'), ...IDS, '--show', 'mix_map');
        close(tensors['h.1.mix_map'][2][5], (await lit(page))[0], 'mix_map');
        yes((await page.innerText('#reading-title')).startsWith('What “'), 'it attends');
        same(0, await page.locator('#light-flow').count());
        yes((await page.locator('#panes .arcs .below').count()) > 0, 'no line below zero');
    }));

await test('c compares with a text or a head, by the pin of the matrix, and marks differences', async () => {
    const of = (text, ...words) => json('-s', text, ...words).tensors;
    await withPage(path, async (page) => {
        await go(page, 'screen=text&head=1.3&token=11');
        await page.keyboard.press('c');
        same('#pin=1&screen=text&head=1.3&token=11', await page.evaluate(() => location.hash));
        const [a, b] = [WIDE, TIRED].map((text) => of(text)['h.1.weights'][3].at(-1));
        const [foundA, foundB] = await lit(page);
        close(a, foundA, 'A');
        close(b, foundB, 'B');
        const differ = b.flatMap((value, at) => (Math.abs(value - a[at]) >= 0.1 ? [at] : []));
        const marked = await page.$$eval('.differs[data-at]', (all) => all.map((one) => Number(one.dataset.at)));
        same(differ, marked);
        yes(differ.length > 3, 'nothing differs');
        await page.keyboard.press('m');
        same('1', await page.inputValue('#compare'));
        await page.keyboard.press('t');
        await page.selectOption('#second', 'h0.2');
        yes((await page.evaluate(() => location.hash)).includes('pin=h0.2'), 'not in the address');
        const [head, mine] = await lit(page);
        close(of(TIRED)['h.0.weights'][2].at(-1), head, 'another head');
        close(b, mine, 'this head');
        const rows = await rowsOfCommands(page, 11);
        close(rows[0], head, 'the first command');
        close(rows[1], mine, 'the second command');
        await page.reload();
        same(['L0·H2', 'L1·H3'], await texts(page, '#panes .words > b'));
        await page.keyboard.press('m');
        same('', await page.inputValue('#compare'));
        await page.keyboard.press('t');
        await page.keyboard.press('c');
        same(1, (await lit(page)).length);
    });
    await withPage(writePage('-m', 'life', '-m', 'life-causal', 'Life is short'), async (page) => {
        await go(page, 'screen=text&pin=1&token=1');
        const rows = ['life-causal', 'life'].map(
            (model) => json('-m', model, 'Life is short').tensors['h.0.weights'][0][1],
        );
        const found = await lit(page);
        rows.forEach((row, at) => close(row, found[at], `model ${at}`));
    });
});

await test('means of layers are compared by their names, and not a layer with itself', () =>
    withPage(path, async (page) => {
        await go(page, 'screen=text&light=layer&pin=h0.2&head=1.3&token=8');
        same(['mean of layer 0', 'mean of layer 1'], await texts(page, '#panes .words > b'));
        const said = await page.innerText('#reading-said');
        yes(said.includes('Orange: differs from mean of layer 0 by 0.10 or more.'), said);
        await go(page, 'screen=text&light=layer&pin=h1.2&head=1.3&token=8');
        same(1, (await lit(page)).length);
        yes(!(await page.innerText('#reading-said')).includes('differs'), 'a difference');
    }));

await test('a page opens on the head and the query that stand out, whose role is not said of it', () =>
    withPage(path, async (page) => {
        const { tensors } = json('-s', TIRED, '--layer', '1', '--head', '1');
        same('it → chicken', await page.innerText('#pair'));
        same(tensors['h.1.weights'][0][8][1].toFixed(2), await page.innerText('#value'));
        same('L1·H1 mostly first token, not for “it”', await page.innerText('#head-title'));
        await page.click('#chips .chip >> nth=3');
        same('L1·H1 first token head', await page.innerText('#head-title'));
        await go(page, 'screen=text&token=8');
        same(['L1·H0', 'L1·H2'], await page.$$eval('.strip', (all) =>
            all.filter((one) => /first token/.test(one.innerText)).map((one) => one.children[0].innerText),
        ));
        await page.selectOption('#sentence', '2');
        await page.keyboard.press('m');
        same('cabinet', await page.innerText('#chips [aria-pressed="true"]'));
    }));

await test('texts in two columns have their sentences as names, the other one at the left', () =>
    withPage(
        path,
        async (page) => {
            await go(page, 'screen=text&pin=1');
            same([WIDE, TIRED], await texts(page, '#panes .words > b'));
            const [other, mine] = await page.$$eval('#panes .words', (all) =>
                all.map((one) => one.getBoundingClientRect().left),
            );
            yes(other < mine, `${other} ${mine}`);
        },
        { viewport: { width: 900, height: 700 } },
    ));

await test('a source on several lines of a phone has no arcs', () =>
    withPage(
        writePage('-m', 'translate', '-s', '<s> le petit chat noir dort', '--source', 'the small black cat sleeps'),
        async (page) => {
            await go(page, 'screen=text');
            same(0, await page.locator('#panes .arcs:visible path').count());
            const [source, text] = await page.$$eval('#panes .words', (all) =>
                all.map((one) => one.getBoundingClientRect().top),
            );
            yes(source < text, 'the source is below');
            await page.setViewportSize({ width: 1280, height: 720 });
            await page.locator('#panes .arcs:visible path').first().waitFor({ state: 'attached' });
        },
        { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
    ));

await test('the flow has a level for each layer, with the lens, and of many layers some', async () => {
    await withPage(path, async (page) => {
        await go(page, 'screen=text&light=flow&token=8');
        const said = await page.$$eval('#flow text', (all) => all.map((one) => one.textContent));
        const best = Object.values(attnJson('lens', '-q', TIRED, '--show', 'best').tables)[0];
        for (const layer of [0, 1]) {
            const at = said.indexOf(`after layer ${layer}`);
            const first = best.find((one) => one.layer === layer && one.position === 8);
            const share = percent(first.probability);
            same(`“it” reads: “${first.best.trim()}” ${share}`, said[at + 1]);
        }
        const rollout = json('-s', TIRED, '--show', 'rollout', '--layer', '1').tensors['h.1.rollout'][8];
        for (const share of rollout.filter((one) => one >= 0.1))
            yes(said.includes(`${(100 * share).toFixed(0)} %`), `${share} is not in ${said.join()}`);
    });
    await withPage(writePage('-m', twelve, SIXTY), async (page) => {
        await go(page, 'screen=text&light=flow&token=40');
        const said = await page.$$eval('#flow .quiet', (all) => all.map((one) => one.textContent));
        same([11, 8, 5, 2].map((layer) => `after layer ${layer}`).concat('words'), said);
    });
});

for (const [width, height] of [
    [1280, 720],
    [1440, 900],
    [390, 844],
])
    await test(`the text is no wider than a window of ${width} × ${height}`, async () => {
        const long = writePage('-m', twelve, SIXTY, '--lens');
        const viewport = { viewport: { width, height }, isMobile: width < 700, hasTouch: width < 700 };
        for (const [one, pin] of [
            [path, 'pin=1'],
            [long, 'pin=h0.2'],
        ])
            await withPage(
                one,
                async (page) => {
                    for (const hash of ['', 'light=flow', pin, `${pin}&light=layer`, 'present=1'])
                        for (const lang of ['en', 'zh']) {
                            await go(page, `screen=text&${hash}&lang=${lang}`);
                            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
                            yes(wide <= width, `${hash} ${lang}: ${wide}`);
                        }
                },
                viewport,
            );
    });

await test('in a presentation the switch is in the header, on a phone in a row of its own', async () => {
    await withPage(path, async (page) => {
        await page.keyboard.press('p');
        const [header, box] = [await boxOf(page.locator('header')), await boxOf(page.locator('#screens'))];
        yes(box.y >= header.y && box.y + box.height <= header.y + header.height, 'not in the header');
        await page.keyboard.press('t');
        same(['Text'], await pressed(page, '#screens'));
        const size = await page.$eval('#panes .word', (one) => parseFloat(getComputedStyle(one).fontSize));
        yes(size >= 30, `words of ${size} pixels`);
        yes(await page.isVisible('#second'), 'nothing to compare with');
        await page.keyboard.press('Escape');
        yes((await boxOf(page.locator('#screens'))).y > header.height / 2, 'in the header');
    });
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    await withPage(
        path,
        async (page) => {
            const box = await boxOf(page.locator('#screens'));
            yes(box.width > 350 && box.height >= 40, JSON.stringify(box));
            await page.tap('#screen-text');
            yes(await page.isVisible('#reading'), 'no text');
        },
        phone,
    );
});

await test('Tab reaches the lights, the comparison, a word and a strip; arrows move the query', () =>
    withPage(path, async (page) => {
        await go(page, 'screen=text&token=8');
        const reached = new Set();
        for (let i = 0; i < 40; i++) {
            await page.keyboard.press('Tab');
            reached.add(
                await page.evaluate(() => {
                    const { id, className } = document.activeElement;
                    return id || className.split(' ')[0];
                }),
            );
        }
        for (const part of ['screen-text', 'light-head', 'light-flow', 'second', 'word', 'strip', 'command'])
            yes(reached.has(part), `${part} is not in ${[...reached].join()}`);
        await page.keyboard.press('t');
        same('it', await page.evaluate(() => document.activeElement.firstChild.data));
        await page.keyboard.press('ArrowLeft');
        same('because', await page.evaluate(() => document.activeElement.firstChild.data));
        await page.keyboard.press('ArrowDown');
        same(['Mean of the layer'], await pressed(page, '#light'));
    }));

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

await test('a page without weights has no switch to the text', () =>
    withPage(writePage('Life is short', '--show', 'embedding'), async (page) => {
        same(0, await page.locator('#screen-text').count());
        await page.keyboard.press('t');
        yes(await page.isVisible('#stage'), 'no matrix');
    }));
