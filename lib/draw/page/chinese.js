// Texts of the page in Chinese, by the English ones; # is a number or a name.

const CHINESE = {
    // the lesson (lesson.js, commands.js)
    'Look: ': '看点：',
    '#: open it in the workbench': '#：在工作台中打开',
    'rows: #, columns: #': '行：#，列：#',
    'The embeddings as arrows': '画成箭头的嵌入向量',
    'Matrix of #: # by #. Arrow keys move.': '# 的矩阵：行是#，列是#。方向键移动。',
    'Matrix of #: # by #. Arrow keys move, Enter explains.':
        '# 的矩阵：行是#，列是#。方向键移动，回车键解释。',
    masked: '被掩码',
    Steps: '步骤',
    '# does the same': '按 # 键也可以',
    Copy: '复制',
    Copied: '已复制',
    token: '词元',
    query: '查询',
    key: '键',
    channel: '通道',
    dim: '维',
    word: '词',

    // its tables, as explain titles them
    '# of #': '# / #',
    sum: '和',
    Input: '输入',
    Embedding: '嵌入',
    Query: '查询',
    'Keys and scores': '键和分数',
    Scale: '缩放',
    Softmax: 'softmax',
    Mask: '掩码',
    'Values and weights': '值和权重',
    'Context: weighted sum of the values': '上下文向量：值的加权和',
    Output: '输出',
    'Residual stream after the attention': '注意力之后的残差流',
    'Norm before the MLP': 'MLP 之前的归一化',
    'MLP: hidden channels': 'MLP：隐藏通道',
    'MLP: activation': 'MLP：激活函数',
    'MLP: output': 'MLP：输出',
    'Residual stream after the layer': '这一层之后的残差流',
    'There are no projections: q, k and v are the inputs.': '没有投影：q、k、v 就是输入。',
    'The scale is 1: the scores do not change.': '缩放系数是 1：分数不变。',
    'There is no mask: every query attends to every key.': '没有掩码：每个查询都关注所有的键。',
    'One head and no output projection: the context is the output.':
        '只有一个头，也没有输出投影：上下文向量就是输出。',
    'A query attends to itself and to earlier tokens: the last one to all.':
        '查询只关注自己和前面的词元：最后一个查询关注所有词元。',
    "Wq: this head's columns of the query projection, [96, 24].":
        'Wq：查询投影中属于这个头的列，[96, 24]。',
    'WO,h: the rows of the output projection that belong to head h.':
        'WO,h：输出投影中属于头 h 的行。',

    // its diagram (walk.js, stations.js)
    'The tensor of the station': '节点的张量',
    '# stations, # with their tensors; arrow keys go on': '# 个节点，其中 # 个有张量；方向键移动',
    '# heads of # × # numbers': '# 个头，每个头 # × # 个数',
    '# kv_heads of # × # numbers': '# 个键值头，每个头 # × # 个数',
    '# × # numbers': '# × # 个数',
    'not in this page': '不在本页',
    'layer #': '第 # 层',
    'The source': '源文本',
    'The text': '文本',
    Open: '打开',
    'Open it in the workbench': '在工作台中打开',

    // the tensors of a pass (lib/model/site.c)
    'token + position embedding': '词元嵌入 + 位置嵌入',
    'token + position embedding of the second text': '第二个文本的词元嵌入 + 位置嵌入',
    'encoder: residual stream before the block': '编码器：本层之前的残差流',
    'encoder: first layer norm': '编码器：第一个层归一化',
    'encoder: queries': '编码器：查询',
    'encoder: keys': '编码器：键',
    'encoder: values': '编码器：值',
    'encoder: q·k before the scale': '编码器：缩放之前的 q·k',
    'encoder: scaled scores (there is no mask)': '编码器：缩放后的分数（没有掩码）',
    'encoder: attention weights': '编码器：注意力权重',
    'encoder: weights · v': '编码器：权重 · v',
    'encoder: output of the attention layer': '编码器：注意力层的输出',
    'encoder: residual stream after attention': '编码器：注意力之后的残差流',
    'encoder: second layer norm': '编码器：第二个层归一化',
    'encoder: hidden channels of the MLP, after the activation': '编码器：激活函数之后的 MLP 隐藏通道',
    'encoder: output of the MLP': '编码器：MLP 的输出',
    'encoder: residual stream after the block': '编码器：本层之后的残差流',
    'encoder: final layer norm': '编码器：最后的层归一化',
    'residual stream before the block': '本层之前的残差流',
    'first layer norm': '第一个层归一化',
    'queries before the rotary embedding': '旋转位置编码之前的查询',
    'keys before the rotary embedding': '旋转位置编码之前的键',
    queries: '查询',
    keys: '键',
    values: '值',
    'q·k before scale and mask (--attention linear: φ(q)·φ(k))':
        '缩放和掩码之前的 q·k（--attention linear：φ(q)·φ(k)）',
    'softmax of the scaled scores over all keys (only with --mask-after)':
        '缩放后的分数对所有键做 softmax（仅在 --mask-after 时）',
    ['scaled scores, -inf for masked keys (with --mask-after: softmax, ' +
    'linear: scores, 0 for masked keys)']:
        '缩放后的分数，被掩码的键为 -inf（--mask-after：softmax，linear：分数，被掩码的键为 0）',
    'attention weights: softmax of masked (linear: masked / its sum); each row sums to 1':
        '注意力权重：masked 的 softmax（linear：masked 除以它的和）；每行之和为 1',
    'weights · v: the output of each head, before the output projection':
        '权重 · v：每个头在输出投影之前的输出，即上下文向量',
    'output of the attention layer': '注意力层的输出',
    'norm of attn_out': 'attn_out 的归一化',
    'residual stream after attention': '注意力之后的残差流',
    'layer norm before cross-attention': '交叉注意力之前的层归一化',
    'queries of the cross-attention': '交叉注意力的查询',
    'keys from the encoder output': '来自编码器输出的键',
    'values from the encoder output': '来自编码器输出的值',
    'q·k of the cross-attention': '交叉注意力的 q·k',
    'scaled scores (there is no mask)': '缩放后的分数（没有掩码）',
    'attention weights from the text to the source': '从文本到源文本的注意力权重',
    'cross_weights · cross_v': 'cross_weights · cross_v',
    'output of the cross-attention layer': '交叉注意力层的输出',
    'residual stream after cross-attention': '交叉注意力之后的残差流',
    'second layer norm': '第二个层归一化',
    'gate of the MLP, before the activation': '激活函数之前的 MLP 门',
    'input that the gate multiplies': '与门相乘的输入',
    'hidden channels of the MLP, after the activation': '激活函数之后的 MLP 隐藏通道',
    'output of the MLP': 'MLP 的输出',
    'norm of mlp_out': 'mlp_out 的归一化',
    'residual stream after the block': '本层之后的残差流',
    'final layer norm': '最后的层归一化',
    'logits of the next token': '下一个词元的 logits',

    // the head of the page (main.js, body.html)
    '# layer': '# 层',
    '# layers': '# 层',
    '# head': '# 个头',
    '# heads': '# 个头',
    'Skip to the matrix': '跳到矩阵',
    Text: '文本',
    'Edit the text (/)': '编辑文本（/）',
    'Copy link': '复制链接',
    Export: '导出',
    'Export (e)': '导出（e）',
    Present: '演示',
    'Present (p)': '演示（p）',
    'Light or dark (d)': '浅色或深色（d）',
    'Keys (?)': '按键（?）',

    // the workbench
    Tokens: '词元',
    'stronger bar: more surprising': '条越深，词元越出乎意料',
    Source: '源文本',
    '# attends to #': '# 关注 #',
    'Each row predicts the word after its arrow; columns are the source.':
        '每一行预测箭头后面的词；列是源文本。',
    'Heads on this text': '这个文本上的注意力头',
    Heads: '注意力头',
    '#: layer #, head #': '#：第 # 层，第 # 个头',
    'Without ': '去掉 ',
    ', #, the most of all heads. ': '后，#，在所有头中变化最大。',
    '# falls by # points': '#下降 # 个百分点',
    '# rises by # points': '#上升 # 个百分点',
    'All heads by layer': '各层的所有注意力头',
    'Scores of “attn-cli heads”': '“attn-cli heads”的得分',
    ['duplicate and induction on repeated random tokens, the others on this text; ' +
    'last column: the head with the highest']:
        'duplicate 和 induction 在重复的随机词元上测量，其他在这个文本上测量；最后一列是得分最高的头',
    Run: '运行',
    'Compare with': '比较',
    Temperature: '温度',
    'Switch all on': '全部打开',
    'Previous head': '上一个头',
    'Next head': '下一个头',
    'Which run': '哪次运行',
    Tensor: '张量',
    'Lines of all heads': '所有头的连线',
    Why: '为什么是',
    'this number': '这个数',
    '?': '？',
    Enter: '回车',
    'All numbers as a table': '全部数字的表格',
    'Most likely next tokens': '最可能的下一个词元',
    'How it came about': '预测的形成',
    'the three most likely tokens after each step': '每一步之后最可能的三个词元',
    'Why this number?': '为什么是这个数？',
    Legend: '图例',
    'Command to reproduce this': '重现此结果的命令',
    More: '更多',
    'Open or close': '打开或关闭',

    // dialogues
    Keys: '按键',
    arrows: '方向键',
    'move in the matrix, the tokens or the heads; elsewhere ← → change the head':
        '在矩阵、词元或注意力头中移动；在别处用 ← → 换头',
    'in the matrix: why this number': '在矩阵中：为什么是这个数',
    'leave a field, close, then deselect the cell': '离开输入框，关闭，然后取消选中',
    'previous and next head, or step of the lesson': '上一个、下一个头，或课程的上一步、下一步',
    'go to the matrix': '到矩阵',
    'turn the head off or on': '关闭或打开这个头',
    'pin this run as the baseline, or unpin it': '把这次运行固定为基准，或取消',
    'present: sentence, matrix and prediction alone, in large letters':
        '演示：只显示句子、矩阵和预测，字体放大',
    'go to the text': '到文本',
    'lines of all heads': '所有头的连线',
    'linear or square root scale': '线性或平方根刻度',
    'export: PNG, CSV, the command': '导出：PNG、CSV、命令',
    'light or dark': '浅色或深色',
    'lesson or workbench, on the page of a lesson': '课程或工作台（在课程的页面上）',
    Close: '关闭',
    'Export this view': '导出这个视图',
    'CSV of the head': '这个头的 CSV',
    '“Copy link” stores the text, the heads that are off, the temperature, the pin and the view.':
        '“复制链接”保存文本、被关闭的头、温度、固定的运行和视图。',
};

// A text in the language of the page; each # is the next value.
function say(text, ...values) {
    const said = (look.language === 'zh' && CHINESE[text]) || text;
    return said.replace(/#/g, () => values.shift());
}

// Translate the texts of body.html.
function translateBody() {
    if (look.language !== 'zh') return;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const { parentElement, data } = walker.currentNode;
        const words = CHINESE[data.replace(/\s+/g, ' ').trim()];
        if (words && parentElement.tagName !== 'SCRIPT') walker.currentNode.data = words;
    }
    for (const name of ['aria-label', 'title'])
        for (const one of document.querySelectorAll(`body [${name}]`))
            one.setAttribute(name, say(one.getAttribute(name)));
}
