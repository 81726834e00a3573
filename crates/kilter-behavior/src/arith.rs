//! Constant arithmetic in Python arguments: `110/5`, `2**3`, `-(4 - 1)`.

/// The value of a constant expression as a JSON number, or `None` when it is anything else.
pub(crate) fn eval(t: &str) -> Option<String> {
    if t.len() > 80
        || !t
            .bytes()
            .all(|b| b.is_ascii_digit() || b"+-*/(). %".contains(&b))
    {
        return None;
    }
    let mut p = P {
        b: t.as_bytes(),
        i: 0,
        depth: 0,
    };
    let v = p.sum()?;
    p.ws();
    if p.i != p.b.len() || !v.0.is_finite() {
        return None;
    }
    let text = if v.1 && v.0.abs() < 9e15 {
        format!("{}", v.0 as i64)
    } else {
        format!("{:?}", v.0)
    };
    crate::lit::json_number(&text).then_some(text)
}

/// A value and whether it is an integer.
type V = (f64, bool);

struct P<'a> {
    b: &'a [u8],
    i: usize,
    depth: usize,
}

impl P<'_> {
    fn ws(&mut self) {
        while self.b.get(self.i) == Some(&b' ') {
            self.i += 1;
        }
    }

    fn eat(&mut self, s: &[u8]) -> bool {
        self.ws();
        if self.b[self.i..].starts_with(s) {
            self.i += s.len();
            return true;
        }
        false
    }

    fn sum(&mut self) -> Option<V> {
        let mut a = self.product()?;
        loop {
            if self.eat(b"+") {
                let b = self.product()?;
                a = (a.0 + b.0, a.1 && b.1);
            } else if self.eat(b"-") {
                let b = self.product()?;
                a = (a.0 - b.0, a.1 && b.1);
            } else {
                return Some(a);
            }
        }
    }

    fn product(&mut self) -> Option<V> {
        let mut a = self.unary()?;
        loop {
            self.ws();
            if self.b[self.i..].starts_with(b"**") {
                return None;
            }
            if self.eat(b"*") {
                let b = self.unary()?;
                a = (a.0 * b.0, a.1 && b.1);
            } else if self.eat(b"//") {
                let b = self.unary()?;
                if b.0 == 0.0 {
                    return None;
                }
                a = ((a.0 / b.0).floor(), a.1 && b.1);
            } else if self.eat(b"/") {
                let b = self.unary()?;
                if b.0 == 0.0 {
                    return None;
                }
                a = (a.0 / b.0, false);
            } else {
                return Some(a);
            }
        }
    }

    fn unary(&mut self) -> Option<V> {
        self.depth += 1;
        if self.depth > 32 {
            return None;
        }
        let v = if self.eat(b"-") {
            self.unary().map(|v| (-v.0, v.1))
        } else if self.eat(b"+") {
            self.unary()
        } else {
            self.power()
        };
        self.depth -= 1;
        v
    }

    fn power(&mut self) -> Option<V> {
        let a = self.atom()?;
        if self.eat(b"**") {
            let b = self.unary()?;
            let int = a.1 && b.1 && b.0 >= 0.0;
            return Some((a.0.powf(b.0), int));
        }
        Some(a)
    }

    fn atom(&mut self) -> Option<V> {
        if self.eat(b"(") {
            let v = self.sum()?;
            return self.eat(b")").then_some(v);
        }
        self.ws();
        let s = self.i;
        while self
            .b
            .get(self.i)
            .is_some_and(|b| b.is_ascii_digit() || *b == b'.')
        {
            self.i += 1;
        }
        let w = std::str::from_utf8(&self.b[s..self.i]).ok()?;
        let v: f64 = w.parse().ok()?;
        Some((v, !w.contains('.')))
    }
}
