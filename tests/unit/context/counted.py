"""Short texts with the tokens that OpenAI's tokenizers count in them: name, `cl100k_base`, `o200k_base`, text."""

# ruff: noqa: E501 - texts of many scripts, each on its line

COUNTED = [
    (
        "German",
        77,
        60,
        "Die Wärmepumpe entzieht der Umgebungsluft Wärme und gibt sie mit höherer Temperatur an das Heizungswasser ab; im Jahresmittel erreicht sie eine Arbeitszahl von etwa drei bis vier, sofern die Vorlauftemperatur niedrig bleibt und das Gebäude hinreichend gedämmt ist.",
    ),
    (
        "French",
        62,
        43,
        "L'électricité produite par les éoliennes en mer du Nord a augmenté de quinze pour cent l'année dernière, tandis que les coûts d'exploitation ont légèrement diminué grâce à des campagnes d'entretien mieux planifiées.",
    ),
    (
        "Polish",
        80,
        67,
        "Pompa ciepła pobiera energię z otoczenia i przekazuje ją do instalacji grzewczej, dzięki czemu zużycie prądu jest kilkukrotnie mniejsze niż ilość uzyskanego ciepła; źródłem może być grunt, woda albo powietrze.",
    ),
    (
        "Vietnamese",
        78,
        42,
        "Máy bơm nhiệt lấy nhiệt từ không khí bên ngoài và đưa vào trong nhà, nhờ vậy lượng điện tiêu thụ thấp hơn nhiều so với lượng nhiệt nhận được trong suốt mùa đông.",
    ),
    (
        "Russian",
        98,
        51,
        "Тепловой насос забирает тепло из окружающего воздуха и передаёт его в систему отопления, поэтому расход электроэнергии в несколько раз меньше полученного количества тепла; источником может служить грунт, вода или воздух.",
    ),
    (
        "Greek",
        137,
        52,
        "Η αντλία θερμότητας παίρνει θερμότητα από τον εξωτερικό αέρα και την αποδίδει στο νερό της θέρμανσης, οπότε η κατανάλωση ρεύματος είναι πολύ μικρότερη.",
    ),
    (
        "Hebrew",
        104,
        43,
        "משאבת החום לוקחת חום מהאוויר שבחוץ ומעבירה אותו למערכת החימום, ולכן צריכת החשמל קטנה בהרבה מכמות החום המתקבלת.",
    ),
    (
        "Arabic",
        88,
        36,
        "تسحب المضخة الحرارية الحرارة من الهواء الخارجي وتنقلها إلى نظام التدفئة، ولذلك يكون استهلاك الكهرباء أقل بكثير من كمية الحرارة الناتجة.",
    ),
    (
        "Hindi",
        135,
        48,
        "ऊष्मा पंप बाहर की हवा से ऊष्मा लेकर उसे घर के हीटिंग तंत्र में पहुँचाता है, इसलिए बिजली की खपत प्राप्त ऊष्मा की तुलना में कई गुना कम होती है।",
    ),
    (
        "Bengali",
        133,
        41,
        "তাপ পাম্প বাইরের বাতাস থেকে তাপ নিয়ে ঘরের ভেতরে পৌঁছে দেয়, তাই বিদ্যুতের খরচ প্রাপ্ত তাপের তুলনায় অনেক কম হয়।",
    ),
    (
        "Thai",
        115,
        49,
        "ปั๊มความร้อนดึงความร้อนจากอากาศภายนอกแล้วส่งเข้าสู่ระบบทำความร้อนภายในบ้าน จึงใช้ไฟฟ้าน้อยกว่าความร้อนที่ได้รับหลายเท่า",
    ),
    (
        "Tamil",
        158,
        39,
        "வெப்ப பம்பு வெளிக்காற்றிலிருந்து வெப்பத்தை எடுத்து வீட்டின் உள்ளே கொண்டு செல்கிறது, எனவே மின்சாரச் செலவு மிகவும் குறைவு.",
    ),
    ("Amharic", 165, 124, "የሙቀት ፓምፕ ከውጭ አየር ሙቀትን ወስዶ ወደ ቤት ውስጥ ያስገባል፤ ስለዚህ የኤሌክትሪክ ፍጆታው ዝቅተኛ ነው።"),
    ("Burmese", 192, 55, "အပူပန့်သည် ပြင်ပလေထုမှ အပူကို ယူပြီး အိမ်တွင်းသို့ ပို့ပေးသောကြောင့် လျှပ်စစ်သုံးစွဲမှု နည်းပါးသည်။"),
    (
        "simplified Chinese",
        131,
        86,
        "热泵从室外空气中吸收热量，再以较高的温度传给供暖系统的水，因此耗电量只有所得热量的三分之一左右；如果建筑保温良好、供水温度较低，全年的性能系数可以达到三到四。根据国家统计局的数据，二零二五年全国新增装机容量同比增长百分之十五。",
    ),
    (
        "traditional Chinese",
        124,
        80,
        "熱泵從室外空氣中吸收熱量，再以較高的溫度傳給供暖系統的水，因此耗電量只有所得熱量的三分之一左右；若建築保溫良好、供水溫度較低，全年的性能係數可以達到三到四，遠勝傳統鍋爐。",
    ),
    (
        "Japanese",
        101,
        70,
        "ヒートポンプは外気から熱を取り出し、より高い温度で暖房用の水に渡すため、消費電力は得られる熱量の三分の一ほどで済みます。断熱性能の高い住宅では年間の効率がさらに良くなります。",
    ),
    (
        "Korean",
        111,
        65,
        "히트펌프는 바깥 공기에서 열을 흡수하여 더 높은 온도로 난방수에 전달하므로 전력 소비량은 얻는 열량의 삼분의 일 정도에 불과하며, 단열이 좋은 건물에서는 효율이 더 높아진다.",
    ),
    ("pictographs", 85, 58, "🔥🌡️🏠💡⚡️🌍🚀🧪📈📉🤖🦌🎉👩‍🔬👨‍👩‍👧‍👦🇩🇪🇨🇳✅❌⭐️"),
    ("formulas", 57, 54, "∀ε>0 ∃δ>0: |x−a|<δ ⇒ |f(x)−f(a)|<ε; ∑_{n=1}^{∞} 1/n² = π²/6 ≈ 1.644934"),
    (
        "English",
        57,
        57,
        "A heat pump takes warmth from the air outside and hands it to the heating water at a higher temperature, so that it needs only about a third of the heat it gives as electricity; in a well insulated house its seasonal performance factor reaches 3.5 to 4.2.",
    ),
    (
        "code",
        56,
        56,
        'def room(limit: int, *, share: float = 0.25) -> int:\n    """What is left."""\n    return min(int(limit * share), MAX_ROOM)\n\n\nfor name, value in sorted(found.items()):\n    print(f"{name}: {value!r}")',
    ),
    (
        "JSON",
        72,
        73,
        '{"note": "Data.", "results": [{"id": "s2-4", "title": "Noise of heat pumps", "summary": "54 dB(A) at -20 C", "url": "https://www.velmar.example/k7/data-sheet.html?lang=en&v=2", "score": 0.83}]}',
    ),
    (
        "addresses",
        42,
        43,
        "https://www.example.org/2026/04/heat-pumps-in-old-houses https://en.wikipedia.org/wiki/Coefficient_of_performance#Derivation doc://reports/annual/2025_final.md",
    ),
    (
        "a table",
        68,
        68,
        "| year | units | share |\n| --- | --- | --- |\n| 2023 | 1,284,500 | 41.7 % |\n| 2024 | 1,390,210 | 44.05 % |\n| 2025 | 1,512,008 | 47.9 % |",
    ),
]
