# Where regimen is not installed where pkg-config looks: make PKG_CONFIG_PATH=/where/it/is/lib/pkgconfig
CFLAGS += -std=c17 -Wall -Wextra -O2 -fPIC $(shell pkg-config --cflags regimen)
LDLIBS += $(shell pkg-config --libs regimen) -lm

moons.so: moons.c
	$(CC) $(CFLAGS) -shared -o $@ moons.c $(LDLIBS)

# One batch of everything.
test: moons.so
	regimen trial test moons.yaml

clean:
	rm -f moons.so

.PHONY: test clean
