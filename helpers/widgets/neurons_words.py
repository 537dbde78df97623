"""The words of the neuron explorer: (English, Chinese)."""

STRINGS = {
    "neurons.title": ("Neuron explorer", "神经元探索器"),
    "neurons.layer": ("Block", "块"),
    "neurons.order": ("Strongest by", "排序："),
    "neurons.push": ("push on the prediction", "对预测的推动"),
    "neurons.strength": ("length of what it writes", "写入向量的长度"),
    "neurons.tokens": ("Token. Left and right change it.", "词元。左右键切换。"),
    "neurons.list": (
        "Neurons, strongest first. Up and down change the neuron.",
        "神经元，最强的在前。上下键切换。",
    ),
    "neurons.neuron": ("neuron {neuron}", "神经元 {neuron}"),
    "neurons.others": ("{count} others", "其余 {count} 个"),
    "neurons.total": ("whole FFN", "整个 FFN"),
    "neurons.place": (
        "Block {layer} at {token}, where the model predicts {answer}. The FFN pushes its logit by {total}.",
        "第 {layer} 块，位于 {token}，模型预测 {answer}。FFN 对其 logit 的推动为 {total}。",
    ),
    "neurons.says": (
        "Neuron {neuron} has activation {act} here, writes a vector of length {strength} "
        "and pushes {answer} by {push}.",
        "神经元 {neuron} 在此的激活值为 {act}，写入长度为 {strength} 的向量，对 {answer} 的推动为 {push}。",
    ),
    "neurons.fires": ("activation of neuron {neuron} at each token", "神经元 {neuron} 在每个词元处的激活值"),
    "neurons.up": ("here it pushes up", "在此推高"),
    "neurons.down": ("and down", "并压低"),
    "neurons.caption": (
        "Model {name}, {n_tokens} tokens, {dtype}. A push counts what the answer's logit gains over the average "
        "token's. Tokens are listed by direction (cosine with their rows).",
        "模型 {name}，{n_tokens} 个词元，{dtype}。推动指答案的 logit 相对于平均词元的增量。"
        "词元按方向（与其行向量的余弦）排列。",
    ),
    "neurons.capped": (
        "Shown are the first token and the last {last}; the {hidden} between them are left out.",
        "这里显示第一个词元和最后 {last} 个词元，中间 {hidden} 个未显示。",
    ),
    "neurons.table": (
        "Block {layer} at {token}, which predicts {answer}: the strongest neurons",
        "第 {layer} 块，位于 {token}，预测 {answer}：最强的神经元",
    ),
    "neurons.head.neuron": ("neuron", "神经元"),
    "neurons.head.act": ("activation", "激活值"),
    "neurons.head.push": ("push", "推动"),
    "neurons.head.tokens": ("pushes up", "推高"),
}
