"""What the extractive model says in its own words, in English and in Chinese."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Phrases:
    """The sentences of one language. Fields in braces are filled by `str.format`."""

    greeting: str
    thanks: str
    farewell: str
    about: str
    direct_answer: str
    overview: str
    comparison: str
    conclusion: str
    requested: str
    find: str
    answer_question: str
    ask_article: str
    compare_findings: str
    join_findings: str
    thought: str
    what_feedback_does: str
    nothing_removed: str
    made_room: str
    gap: str
    found: str
    found_one: str
    found_in_one: str
    found_nothing: str
    search_failed: str
    side_by_side: str
    nothing_to_compare: str
    joined: str
    joined_from_one: str
    enough: str
    not_enough: str
    notice: str
    not_covered: str
    looked_for: str
    already_said: str
    more_said: str
    nothing_new: str
    nothing_new_about: str
    nothing_as_asked: str
    quoted: str
    comma: str
    figure: str
    in_words: str
    source: str
    colon: str


ENGLISH = Phrases(
    greeting="Hello! Ask me a question, and I will look it up in the documents at hand and report what they say, "
    "every sentence with its source.",
    thanks="You are welcome. Ask whenever there is something to look up.",
    farewell="Goodbye! Your reports stay where they were saved.",
    about="I am the extractive mode of this program: no language model is set up, so I find sentences in documents "
    "that answer a question and quote them with their sources. Ask me a question to see it.",
    direct_answer="Direct answer",
    overview="About {subject}",
    comparison="Side by side",
    conclusion="Figures side by side",
    requested="As requested: {feedback}",
    find="Find what the sources say about: ",
    answer_question="Find the sentences that answer the question.",
    ask_article="Find what the source of this title says on the question.",
    compare_findings="Set the findings of the earlier steps side by side and compare their figures.",
    join_findings="Bring the findings of the earlier steps together and compare figures of the same unit.",
    thought="The question is looked at from these sides, taken from its own words and from the titles of the sources "
    "at hand: {facets}.",
    what_feedback_does="Without a language model, feedback only adds a step for what it asks, or removes a step whose "
    "title it names; give every other change by `--plan`.",
    nothing_removed="“{clause}” could not be followed: it does not name one step of the plan, or would leave no step.",
    made_room="The plan was full, so “{title}” made room.",
    gap=" ",
    found="{count} sentences of {sources} sources answer this step.",
    found_one="1 sentence of 1 source answers this step.",
    found_in_one="{count} sentences of 1 source answer this step.",
    found_nothing="Nothing was found: the sources that were searched say nothing about this.",
    search_failed="Nothing was found, because the search did not work: {error}",
    side_by_side="Figures of the same unit from different sources:",
    nothing_to_compare="The earlier steps found nothing that could be compared.",
    joined="The earlier steps found {count} sentences in {sources} sources; no two sources give figures of the same "
    "unit for the same thing.",
    joined_from_one="All that the earlier steps found comes from one source, so there are no figures of different "
    "sources to set side by side.",
    enough="Sentences that answer were found for {done} of {all} steps.",
    not_enough="The sources at hand say nothing more about the question.",
    notice="> No language model was used: the sentences below are quoted from the sources, chosen by the words that "
    "they share with the question. Read them in their sources before relying on them.",
    not_covered="The sources that were searched do not cover this question: they hold nothing that could be quoted.",
    looked_for="What was looked for:",
    already_said="Already said under {headings}.",
    more_said="More on this stands under {headings}.",
    nothing_new="Nothing new was found here.",
    nothing_new_about="Nothing new was found: the sources that were searched do not tell of {queries}.",
    nothing_as_asked="No sentence answers the question as it is asked; the other sections quote what the sources say "
    "about parts of it.",
    quoted="“{text}”",
    comma=", ",
    figure="Figure",
    in_words="In its words",
    source="Source",
    colon=": ",
)

CHINESE = Phrases(
    greeting="你好！请提出一个问题，我会在现有资料中查找，并逐句注明来源地报告资料里的说法。",
    thanks="不客气。需要查找资料时随时提问。",
    farewell="再见！已生成的报告会保留在原处。",
    about="这是本程序的摘录模式：没有配置语言模型，因此只从资料中找出能回答问题的句子，并注明来源原样引用。请提出一个问题试试。",
    direct_answer="直接回答",
    overview="关于{subject}",
    comparison="对照",
    conclusion="数据对照",
    requested="按要求补充：{feedback}",
    find="查找资料中关于以下内容的说法：",
    answer_question="查找能回答问题的句子。",
    ask_article="查找这个标题的资料对问题的说法。",
    compare_findings="把前面各步的发现并列起来，比较其中的数据。",
    join_findings="汇总前面各步的发现，并比较单位相同的数据。",
    thought="从以下几个方面查找，取自问题本身的用语和现有资料的标题：{facets}。",
    what_feedback_does="没有语言模型时，修改意见只能按其要求增加步骤，或删除它点名的步骤；其他修改请用`--plan`给出计划。",
    nothing_removed="“{clause}”无法照办：它没有指明计划中的某一个步骤，或者会使计划没有步骤。",
    made_room="计划已满，因此去掉了“{title}”。",
    gap="",
    found="有{sources}个来源中的{count}个句子回答了这一步。",
    found_one="有1个来源中的1个句子回答了这一步。",
    found_in_one="有1个来源中的{count}个句子回答了这一步。",
    found_nothing="没有找到内容：所查资料没有涉及这一点。",
    search_failed="搜索没有成功，因此没有找到内容：{error}",
    side_by_side="不同来源中单位相同的数据：",
    nothing_to_compare="前面各步没有找到可以比较的内容。",
    joined="前面各步在{sources}个来源中找到{count}个句子；没有两个来源就同一事项给出单位相同的数据。",
    joined_from_one="前面各步找到的内容都出自同一个来源，因此没有不同来源的数据可以对照。",
    enough="{all}个步骤中有{done}个找到了能回答的句子。",
    not_enough="现有资料中没有更多关于该问题的内容。",
    notice="> 本报告未使用语言模型：以下句子均摘自来源原文，按与问题共有的词语选出。引用前请查看原文。",
    not_covered="所查资料没有涉及这个问题，其中没有可以摘录的内容。",
    looked_for="查找过的内容：",
    already_said="已见{headings}一节。",
    more_said="另见{headings}一节。",
    nothing_new="没有找到新的内容。",
    nothing_new_about="没有找到新的内容：所查资料没有提到{queries}。",
    nothing_as_asked="没有哪个句子完整地回答了这个问题；其他各节摘录了资料中与之有关的说法。",
    quoted="“{text}”",
    comma="、",
    figure="数据",
    in_words="原文",
    source="来源",
    colon="：",
)


def phrases_for(locale: str) -> Phrases:
    """The phrases of a locale: Chinese for `zh…`, English for every other."""
    return CHINESE if locale.lower().startswith("zh") else ENGLISH
