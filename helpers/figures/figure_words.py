"""The words that figures add by themselves: (English, Chinese)."""

STRINGS = {
    "figure.looks": ("this token looks", "这个词元看"),
    "figure.looked_at": ("at this token", "向这个词元"),
    "figure.head": ("head {i}", "头 {i}"),
    "figure.part": ("part {i}", "分量 {i}"),
    "figure.numbers": ("the {n} numbers of each vector", "每个向量的 {n} 个数"),
    "figure.number": ("number {place}", "第 {place} 个数"),
    "figure.rows_look": ("Rows look, columns are looked at.", "行在看，列被看。"),
    "figure.two_hues": (
        "Blue above zero, orange below, full colour is ±{limit}{empty}.",
        "蓝色为正，橙色为负，最深为 ±{limit}{empty}。",
    ),
    "figure.clipped": (
        "Blue above zero, orange below, full colour from ±{limit} on.",
        "蓝色为正，橙色为负，达到 ±{limit} 即为最深。",
    ),
    "figure.one_hue": ("Faintest is 0, full colour {limit}{empty}.", "最浅为 0，最深为 {limit}{empty}。"),
    "figure.empty": ("; empty: masked", "；空白：被遮住"),
    "figure.cut_ends": (
        "Shown are the first and the last {last}; the {hidden} between them are left out.",
        "这里显示第一个和最后 {last} 个，中间 {hidden} 个未显示。",
    ),
    "figure.cut_first": ("The first {shown} of {n} are shown.", "共 {n} 个，这里显示前 {shown} 个。"),
    "figure.cut_last": ("The last {shown} of {n} are shown.", "共 {n} 个，这里显示最后 {shown} 个。"),
    "figure.in_unit": ("In {unit}.", "单位：{unit}。"),
    "figure.comma": (", ", "，"),
    "figure.semicolon": ("; ", "；"),
    "figure.more": ("and {n} more", "另有 {n} 个"),
    "figure.between": ("{n} more", "另有 {n} 个"),
    "figure.row": ("{row}: {rest}", "{row}：{rest}"),
    "figure.row_empty": ("{row}: nothing", "{row}：无"),
    "figure.alt.heatmap": (
        "Heat map: {title}.{cut} Largest in each row: {rows}.",
        "热图：{title}。{cut}每行最大：{rows}。",
    ),
    "figure.alt.head_grid": (
        "{n} small heat maps: {title}.{cut} Mean share on the first token, over all rows: {heads}.",
        "{n} 张小热图：{title}。{cut}所有行对第一个词元的平均份额：{heads}。",
    ),
    "figure.alt.strips": (
        "Colour strips: {title}.{cut} Length of each vector: {rows}.",
        "色带：{title}。{cut}各向量的长度：{rows}。",
    ),
    "figure.alt.bars": ("Bar chart: {title}.{cut} {rows}.", "条形图：{title}。{cut}{rows}。"),
    "figure.alt.measures": (
        "Bar chart in {unit}: {title}.{cut} {rows}.",
        "条形图，单位 {unit}：{title}。{cut}{rows}。",
    ),
    "figure.alt.stacked": ("Stacked bars: {title}. {rows}.", "堆叠条形图：{title}。{rows}。"),
    "figure.alt.lines": (
        "Line chart: {title}. {y} over {x} from {start} to {end}: {lines}.",
        "折线图：{title}。{y}随{x}从 {start} 到 {end}：{lines}。",
    ),
    "figure.alt.line": ("{name} from {start} to {end}", "{name} 从 {start} 到 {end}"),
    "figure.alt.dots": ("Dot plot: {title}, {x}. {rows}.", "点图：{title}，{x}。{rows}。"),
    "figure.alt.token_grid": (
        "Grid of tokens: {title}.{cut} Last row: {cells}.",
        "词元网格：{title}。{cut}最后一行：{cells}。",
    ),
    "figure.alt.map": (
        "Map of {n} words: {title}. Nearest on the map: {pairs}.",
        "{n} 个词的地图：{title}。地图上最近的：{pairs}。",
    ),
    "figure.alt.point": ("Map of {n} words: {title}. One point.", "{n} 个词的地图：{title}。只有一个点。"),
}
